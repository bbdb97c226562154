import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { seed } from '../../bench/seed.js';
import { toolFile } from '../../needs.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { addressesOf } from './addresses.js';
import { signedIn } from './browser-like.js';
import { launchChromium, openPage, requireChromium, signInOn } from './chromium.js';

interface Violation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

const desk = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };

describe('site: every page with a year of data', function () {
  this.timeout(180_000);
  let browser: Browser;
  let axe: string;
  let folder: string;
  let gateway: TestGateway;
  let operator: { email: string; password: string };
  let addresses: string[];
  const faults: string[] = [];
  before(async function () {
    requireChromium.call(this);
    axe = readFileSync(toolFile(this, 'axe-core/axe.min.js'), 'utf8');
    folder = await mkdtemp(join(tmpdir(), 'every-page-'));
    const seeded = await seed({ dataDir: folder }, { tenants: 60, keys: 500, days: 40 });
    operator = seeded.operator;
    gateway = await startTestGateway({ HELPER_DATA_DIR: folder, LOG_LEVEL: 'error' });
    const shown = seeded.tenants
      .slice(0, 1)
      .map(({ row, keys }) => ({ name: row.name, key: keys[0]?.row.id }));
    addresses = await addressesOf(await signedIn(gateway.gateway.connectUrl, operator), shown);
    browser = await launchChromium();
  });
  after(async () => {
    await browser?.close();
    await gateway?.close();
    if (folder) await rm(folder, { recursive: true });
  });

  /** What axe finds; what is dark differs from what is light in its colours alone. */
  async function violationsOn(page: Page, dark: boolean): Promise<string[]> {
    await page.evaluate(axe);
    const rules = dark ? `{ runOnly: ['color-contrast', 'link-in-text-block'] }` : '{}';
    const found = (await page.evaluate(
      `axe.run(document, ${rules}).then((r) => r.violations)`,
    )) as Violation[];
    return found.map(({ id, nodes: [node] }) => `${id}: ${node?.html} ${node?.failureSummary}`);
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`fits a phone and has nothing that axe finds wrong, ${colorScheme}`, async () => {
      // The page's own policy keeps axe out, so it is set aside here and only here.
      const [context, page] = await openPage(browser, faults, {
        colorScheme,
        bypassCSP: true,
        viewport: desk,
      });
      await page.goto(`${gateway.gateway.connectUrl}/sign-in`);
      await signInOn(page, operator);
      const found: string[] = [];
      for (const address of addresses) {
        await page.goto(gateway.gateway.connectUrl + address);
        const own = await violationsOn(page, colorScheme === 'dark');
        for (const viewport of colorScheme === 'light' ? [desk, phone] : []) {
          await page.setViewportSize(viewport);
          const wider = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
          if (wider > 0) own.push(`${wider} px wider than ${viewport.width} px`);
        }
        await page.setViewportSize(desk);
        found.push(...own.map((fault) => `${address}: ${fault}`));
      }
      await context.close();
      expect(found).to.deep.equal([]);
      expect(faults).to.deep.equal([]);
    });
  }
});
