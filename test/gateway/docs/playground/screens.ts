import { expect } from 'chai';
import type { InPlayground } from './in-playground.js';

/** What is seen on other screens than most. */
export function describeScreens(chromium: InPlayground): void {
  it('has nothing of its tables out of sight on a phone', async () => {
    const page = await chromium.open('/?helper=media/add-border', {
      viewport: { width: 360, height: 740 },
    });
    const beyond = await page.evaluate(
      `[...document.querySelectorAll('.facts-section td, .facts-section th')]
        .filter((cell) => cell.closest('thead') === null && cell.getClientRects().length > 0)
        .filter((cell) => cell.getBoundingClientRect().right > innerWidth)
        .map((cell) => cell.textContent)`,
    );
    expect(beyond).to.deep.equal([]);
    const row = page.getByRole('row', { name: 'width a whole number of pixels from 0 to 5000' });
    expect(await row.isVisible()).to.equal(true);
  });

  it('shows no form where no script makes it work', async () => {
    const page = await chromium.open('/', { javaScriptEnabled: false });
    await page.goto(`${chromium.gateway.url}/?helper=media/add-border`);
    expect(await page.locator('#try').isVisible()).to.equal(false);
    expect(await page.locator('.plain-call').isVisible()).to.equal(true);
    expect(await page.getByRole('heading', { name: 'Parameters' }).isVisible()).to.equal(true);
  });
}
