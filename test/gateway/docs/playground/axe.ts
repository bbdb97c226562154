import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { toolFile } from '../../../needs.js';
import { type InPlayground, press } from './in-playground.js';

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** What is dark differs from what is light in its colours, and what is narrow in its widths. */
const ways = [
  { way: 'in light', colorScheme: 'light', width: 1280, rules: '{}' },
  {
    way: 'in dark',
    colorScheme: 'dark',
    width: 1280,
    rules: "{ runOnly: ['color-contrast', 'link-in-text-block'] }",
  },
  {
    way: 'on a phone',
    colorScheme: 'light',
    width: 360,
    rules: "{ runOnly: ['scrollable-region-focusable', 'target-size'] }",
  },
] as const;

/** What axe finds wrong with a page as it is, each way, and whether it is wider than the window. */
async function lookAt(page: Page, name: string, axeSource: string): Promise<string[]> {
  const found: string[] = [];
  await page.evaluate(axeSource);
  for (const { way, colorScheme, width, rules } of ways) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    const violations = (await page.evaluate(
      `axe.run(document, { resultTypes: ['violations'], ...${rules} }).then((r) => r.violations)`,
    )) as Violation[];
    const wider = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
    for (const { id, nodes } of violations) {
      found.push(`${name} ${way}: ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
    }
    if (wider > 0) found.push(`${name} ${way}: ${wider} px wider than the window`);
  }
  return found;
}

/** One helper for each kind of answer: data, a difference, a text with words gone, pictures, bytes. */
const answered = [
  'all/controls',
  'all/measures',
  'text/diff-two-strings',
  'text/remove-stopwords',
  'media/add-watermark',
  'all/page',
];

/** To people who cannot see the pages, or not well, or on a small screen. */
export function describeAccess(chromium: InPlayground): void {
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
      if (id === 'all/controls') {
        await press(page);
        found.push(...(await lookAt(page, `${id}, called with nothing`, axeSource)));
      }
      const example = page.locator('[data-example]').first();
      if ((await example.count()) > 0) await example.click();
      if (id.startsWith('media/')) await page.locator('[data-chosen]:visible').waitFor();
      await press(page);
      found.push(...(await lookAt(page, `${id}, its example called`, axeSource)));
    }
    expect(found).to.deep.equal([]);
  });
}
