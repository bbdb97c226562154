import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type InPlayground, press } from './in-playground.js';

const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const auto = (page: Page, name: string) =>
  page.locator(`[data-path="${name}"]`).getByRole('button', { name: 'Auto' });
const snippet = async (page: Page) => (await page.locator('#snippet').textContent()) ?? '';

/** Lengths, what may be left to the helper, and what goes with other values alone. */
export function describeMeasures(chromium: InPlayground): void {
  it('leaves a choice to the helper by a button, by keyboard, and takes it back', async () => {
    const page = await chromium.open('/?helper=all/measures');
    for (const name of ['ink', 'size']) {
      expect(await auto(page, name).getAttribute('aria-pressed'), name).to.equal('true');
    }
    expect(await auto(page, 'paper').count()).to.equal(0);
    await field(page, 'ink').fill('dark red');
    expect(await auto(page, 'ink').getAttribute('aria-pressed')).to.equal('false');
    await auto(page, 'ink').press('Enter');
    expect(await field(page, 'ink').inputValue()).to.equal('auto');
    expect(await snippet(page)).not.to.include('ink');
    await auto(page, 'ink').press('Space');
    expect(await field(page, 'ink').inputValue()).to.equal('dark red');
    expect(await page.evaluate('document.activeElement.id')).to.equal('p-ink');
    // Emptied, it is the default, as it says.
    await field(page, 'ink').fill('');
    expect(await auto(page, 'ink').getAttribute('aria-pressed')).to.equal('true');
  });

  it('sends lengths as they were typed, and says what is wrong with one beside it', async () => {
    const page = await chromium.open('/?helper=all/measures');
    await field(page, 'margin').fill('12.50%');
    await field(page, 'width').fill('7');
    await field(page, 'size').fill('Auto');
    expect(await press(page)).to.include('200 ok');
    expect(await page.locator('.view.json').textContent())
      .to.include('"margin": "12.5%"')
      .and.to.include('"width": 7,')
      .and.to.include('"size": "auto"');
    await field(page, 'width').fill('20px');
    expect(await press(page)).to.include('400');
    expect(await page.locator('#p-width-problem').textContent()).to.equal(
      'width must be a whole number of pixels from 0 to 5000, or per cent such as "5%", but is the string "20px"; write 20',
    );
  });

  it('never sends what makes no sense beside the other values, and says what it is for', async () => {
    const page = await chromium.open('/?helper=all/measures');
    expect(await field(page, 'quality').isDisabled()).to.equal(true);
    expect(await page.locator('#p-quality-hint').textContent()).to.include(
      'Only for the formats jpg, webp, avif and same.',
    );
    await field(page, 'format').selectOption('jpg');
    await field(page, 'quality').fill('70');
    expect(await snippet(page)).to.include('"format":"jpg","quality":70');
    expect(await press(page)).to.include('200 ok');
    await field(page, 'quality').fill('700');
    expect(await press(page)).to.include('400');
    await field(page, 'format').selectOption('png');
    expect(await field(page, 'quality').isDisabled()).to.equal(true);
    expect(await page.locator('#p-quality-problem').isVisible()).to.equal(false);
    expect(await snippet(page)).not.to.include('quality');
    expect(await press(page)).to.include('200 ok');
    await field(page, 'wrap').check();
    expect(await field(page, 'lines').isDisabled()).to.equal(false);
  });

  it('wakes these up for an example, and lets them rest at a reset', async () => {
    const page = await chromium.open('/?helper=all/measures');
    await page.getByRole('button', { name: 'Small and wrapped' }).press('Enter');
    expect(await field(page, 'quality').inputValue()).to.equal('70');
    for (const name of ['quality', 'lines']) {
      expect(await field(page, name).isDisabled(), name).to.equal(false);
    }
    expect(await press(page)).to.include('200 ok');
    await page.getByRole('button', { name: 'Reset' }).press('Enter');
    for (const name of ['quality', 'lines']) {
      expect(await field(page, name).isDisabled(), name).to.equal(true);
    }
  });
}
