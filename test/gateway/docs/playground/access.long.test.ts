import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { toolFile } from '../../../needs.js';
import { inPlayground, press } from './in-playground.js';

type Violation = { id: string; nodes: { html: string; failureSummary?: string }[] };

/** What is dark differs from what is light in its colours, and what is narrow in its widths. */
const ways = [
  ['light', 1280, '{}'],
  ['dark', 1280, "{ runOnly: ['color-contrast', 'link-in-text-block'] }"],
  ['light', 360, "{ runOnly: ['scrollable-region-focusable', 'target-size'] }"],
] as const;

/** What axe finds wrong with a page as it is, each way, and whether it is wider than the window. */
async function lookAt(page: Page, name: string, axeSource: string): Promise<string[]> {
  const found: string[] = [];
  await page.evaluate(axeSource);
  for (const [colorScheme, width, rules] of ways) {
    const at = `${name}, ${colorScheme}, ${width} px`;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    const violations = (await page.evaluate(
      `axe.run(document, { resultTypes: ['violations'], ...${rules} }).then((r) => r.violations)`,
    )) as Violation[];
    const wider = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
    for (const { id, nodes } of violations) {
      found.push(`${at}: ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
    }
    if (wider > 0) found.push(`${at}: ${wider} px wider than the window`);
  }
  return found;
}

/** One helper for each kind of answer: data, a difference, a text with words removed, pictures, bytes. */
const ofText = ['text/diff-two-strings', 'text/remove-stopwords'];
const answered = ['all/controls', 'all/measures', ...ofText, 'media/add-watermark', 'pipeline', 'all/page'];

/** For people who cannot see the pages, or not well, or on a small screen. */
describe('playground: on other screens', function () {
  this.timeout(60_000);
  const chromium = inPlayground();

  it('has nothing of its tables out of sight on a phone', async () => {
    const viewport = { width: 360, height: 740 };
    const page = await chromium.open('/?helper=media/add-border', { viewport });
    const beyond = await page.evaluate(
      `[...document.querySelectorAll('.facts-section td, .facts-section th')]
        .filter((cell) => cell.closest('thead') === null && cell.getClientRects().length > 0)
        .filter((cell) => cell.getBoundingClientRect().right > innerWidth)
        .map((cell) => cell.textContent)`,
    );
    expect(beyond).to.deep.equal([]);
    await page.getByRole('row', { name: 'width a whole number of pixels from 0 to 5000' }).waitFor();
  });

  it('shows no form where no script makes it work', async () => {
    const page = await chromium.open('/', { javaScriptEnabled: false });
    await page.goto(`${chromium.gateway.url}/?helper=media/add-border`);
    const parts = [
      page.locator('#try'),
      page.locator('.plain-call'),
      page.getByRole('heading', { name: 'Parameters' }),
    ];
    const visible = await Promise.all(parts.map((part) => part.isVisible()));
    expect(visible).to.deep.equal([false, true, true]);
  });

  it('has nothing that axe finds wrong, on any kind of page, light, dark or narrow', async function () {
    const axeSource = readFileSync(toolFile(this, 'axe-core/axe.min.js'), 'utf8');
    // The page's own policy keeps axe out, so it is set aside here and only here.
    const page = await chromium.open('/', { bypassCSP: true });
    const found = await lookAt(page, 'index', axeSource);
    await page.goto(`${chromium.gateway.url}/?helper=nothing`);
    found.push(...(await lookAt(page, 'unknown helper', axeSource)));
    for (const id of answered) {
      await page.goto(`${chromium.gateway.url}/?helper=${id}`);
      await page.getByLabel('API key').fill(chromium.gateway.key);
      if (id === 'all/controls' || id === 'pipeline') {
        await press(page);
        found.push(...(await lookAt(page, `${id}, called with nothing`, axeSource)));
      }
      const example = page.locator('[data-example]').first();
      if ((await example.count()) > 0) await example.click();
      if (/^media|^pipeline/.test(id)) await page.locator('[data-chosen]:visible').waitFor();
      await press(page);
      found.push(...(await lookAt(page, `${id}, its example called`, axeSource)));
    }
    expect(found).to.deep.equal([]);
  });
});
