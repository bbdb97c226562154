import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { fixture } from '../../../fixtures.js';
import { startTestGateway, type TestGateway } from '../../harness.js';
import { launchChromium, requireChromium } from '../../site/chromium.js';

/** A gateway and a Chromium for the tests of the suite around, which are skipped where there is no Chromium. */
export function inPlayground() {
  let browser: Browser;
  let gateway: TestGateway;
  /** One for most: what is loaded once is in its cache, and a page of it starts in half the time. */
  let shared: BrowserContext;
  const opened: (BrowserContext | Page)[] = [];
  const faults: string[] = [];

  before(async function () {
    requireChromium.call(this);
    gateway = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/playground'), HELPER_RATE: '1000' });
    browser = await launchChromium();
    shared = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  });
  afterEach(() => Promise.all(opened.splice(0).map((each) => each.close())));
  after(async () => {
    await browser?.close();
    await gateway?.close();
  });

  return {
    get gateway() {
      return gateway;
    },
    /** Errors of the scripts and policies of the pages. */
    faults,
    /** A page at this path, or URL, in a context of its own where it has options; with the key typed in where it is a helper's. */
    async open(path: string, options?: BrowserContextOptions): Promise<Page> {
      const context = options ? await browser.newContext(options) : shared;
      const page = await context.newPage();
      opened.push(options ? context : page);
      page.on('pageerror', (error) => faults.push(error.message));
      page.on('console', (message) => {
        // A refused or lost call is a result like any other, though the browser calls it an error.
        if (message.type() !== 'error' || message.text().startsWith('Failed to load resource')) return;
        faults.push(message.text());
      });
      await page.goto(new URL(path, gateway.url).href);
      if (path.includes('helper=')) await page.getByLabel('API key').fill(gateway.key);
      return page;
    },
  };
}

/** Sends by the keyboard and waits for the answer; gives its line of status. */
export async function press(page: Page): Promise<string> {
  await page.locator('#status').evaluate((line: { replaceChildren(): void }) => line.replaceChildren());
  await page.getByRole('button', { name: 'Send' }).press('Enter');
  await page.locator('#status .state').waitFor();
  return (await page.locator('#status').textContent()) ?? '';
}

/** Presses a button that copies; gives what it copied. */
export async function copied(button: Locator): Promise<string> {
  const page = button.page();
  await page.evaluate('navigator.clipboard.writeText("")');
  await button.click();
  // The button is pressed before the browser has written.
  for (;;) {
    const text = String(await page.evaluate('navigator.clipboard.readText()'));
    if (text !== '') return text;
  }
}
