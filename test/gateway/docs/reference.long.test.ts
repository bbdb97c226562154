import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Browser, Locator, Page } from 'playwright-core';
import { fixture } from '../../fixtures.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { launchChromium, requireChromium } from '../site/chromium.js';

const picture = fileURLToPath(new URL('../../../../plugins/media/example.jpg', import.meta.url));

describe('docs/reference: in Chromium', function () {
  this.timeout(60_000);
  let gateway: TestGateway;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];
  const origins = new Set<string>();

  before(async function () {
    requireChromium.call(this);
    gateway = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/good') });
    browser = await launchChromium();
    page = await browser.newPage();
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error' || /Content Security Policy/.test(message.text()))
        faults.push(message.text());
    });
    page.on('request', (request) => origins.add(new URL(request.url()).origin));
    await page.goto(`${gateway.url}/docs`);
    await page.getByRole('button', { name: 'Authorize' }).click();
    const bearer = page.locator('.auth-container', { hasText: 'bearer' });
    await bearer.getByRole('textbox').fill(gateway.key);
    await bearer.getByRole('button', { name: 'Apply credentials' }).click();
    await page.getByRole('button', { name: 'Close' }).first().click();
  });
  after(async () => {
    await browser?.close();
    await gateway?.close();
  });

  /** Opens an operation to be tried, with a body of this type. */
  async function open(id: string, type?: string): Promise<Locator> {
    const operation = page.locator(`[id="operations-${id}"]`);
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    const types = operation.locator('.opblock-section-request-body select').first();
    if (type !== undefined) await types.selectOption(type);
    return operation;
  }

  async function execute(operation: Locator): Promise<{ status: string; answer: Locator }> {
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table .response').first();
    await answer.waitFor();
    return { status: (await answer.locator('.response-col_status').innerText()).trim(), answer };
  }

  for (const [what, id, hasText] of [
    ['calls a helper by GET with the key and shows the answer', 'getTextRemoveStopwords', 'quick brown fox'],
    ['posts the first example as JSON', 'postTextDiffTwoStrings', '@@ -1,3 +1,3 @@'],
  ] as const) {
    it(what, async () => {
      const { status, answer } = await execute(await open(`text-${id}`));
      expect(status).to.match(/^200/);
      await answer.filter({ hasText }).waitFor();
    });
  }

  it('uploads a picture with the url untouched, and shows the one that comes back', async () => {
    const operation = await open('media-postMediaAddBorder', 'multipart/form-data');
    await operation.locator('input[type=file]').setInputFiles(picture);
    const { status, answer } = await execute(operation);
    expect(status).to.match(/^200/);
    await answer.locator('img').waitFor();
    expect(await answer.locator('img').getAttribute('src')).to.match(/^blob:/);
  });

  it('sends an untouched file field, which is no mistake', async () => {
    const operation = await open('team-postTeamSize', 'multipart/form-data');
    await operation.getByPlaceholder('url').fill('https://127.0.0.1/picture.jpg');
    const { answer } = await execute(operation);
    await answer.filter({ hasText: 'source_refused' }).waitFor();
  });

  it('calls no other server, stores no key, and breaks no rule of its policy', async () => {
    // The browser itself reports a refused call to the console.
    expect(faults.filter((fault) => !/status of 400/.test(fault))).to.deep.equal([]);
    const servers = [...origins].filter((origin) => !origin.startsWith('blob:') && origin !== 'null');
    expect(servers).to.deep.equal([gateway.url]);
    const stored = 'localStorage.length + sessionStorage.length + document.cookie.length';
    expect(await page.evaluate(stored)).to.equal(0);
  });

  it('is dark where people like it so, and fits on a phone', async () => {
    const phone = await browser.newPage({ colorScheme: 'dark', viewport: { width: 390, height: 844 } });
    await phone.goto(`${gateway.url}/docs`);
    await phone.locator('.opblock').first().waitFor();
    const background = await phone.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(background).to.equal('rgb(28, 32, 34)');
    expect(await phone.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
    expect(await phone.title()).to.include('Reference');
    await phone.close();
  });
});
