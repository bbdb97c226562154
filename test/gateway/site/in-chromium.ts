import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { follow, launchChromium, requireChromium } from './chromium.js';
import { openTestSite, type TestSite } from './test-site.js';

/** A site and a Chromium, for the tests of the suite around. */
export interface SiteInChromium {
  readonly site: TestSite;
  /** What the scripts and the policy of the pages complained of. */
  readonly faults: readonly string[];
  /** A page in a context of its own. */
  openPage(options?: BrowserContextOptions): Promise<[BrowserContext, Page]>;
  /** Signs in as the first operator. */
  signIn(page: Page): Promise<void>;
}

/** Opens both before the tests of the suite around and closes them after; skips these where there is no Chromium. */
export function inChromium(): SiteInChromium {
  let browser: Browser;
  let site: TestSite;
  const faults: string[] = [];

  before(async function () {
    requireChromium.call(this);
    site = await openTestSite();
    browser = await launchChromium();
  });
  after(async () => {
    await browser?.close();
    await site?.close();
  });

  return {
    get site() {
      return site;
    },
    faults,
    async openPage(options) {
      const context = await browser.newContext(options);
      const page = await context.newPage();
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/i.test(message.text())) faults.push(message.text());
      });
      return [context, page];
    },
    async signIn(page) {
      await page.goto(`${site.url}/sign-in`);
      await page.getByLabel('E-mail').fill(site.operator.email);
      await page.getByLabel('Password').fill(site.operator.password);
      await follow(page.getByRole('button', { name: 'Sign in' }));
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
    },
  };
}
