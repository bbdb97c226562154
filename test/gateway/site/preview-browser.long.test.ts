import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import sharp from 'sharp';
import { startTestGateway, type TestGateway } from '../harness.js';
import { follow, launchChromium, openPage, requireChromium, signInOn } from './chromium.js';

/** The site and the API of one gateway, as a browser meets them: on two ports, and so from two origins. */
describe('site: the preview of a signed url', function () {
  this.timeout(120_000);
  let images: Server;
  let origin: string;
  let api: TestGateway;
  let browser: Browser;
  const faults: string[] = [];

  before(async function () {
    requireChromium.call(this);
    const create = { width: 40, height: 30, channels: 3, background: '#3060c0' } as const;
    const picture = await sharp({ create }).png().toBuffer();
    images = createServer((_request, response) => response.end(picture));
    await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
    api = await startTestGateway({ HELPER_SOURCE_ORIGINS: origin });
    browser = await launchChromium();
  });
  after(async () => {
    await browser?.close();
    await api?.close();
    images?.close();
  });

  /** A page of the first key, signed in as the first operator. */
  async function openKey(options?: BrowserContextOptions): Promise<Page> {
    const { connectUrl, firstKey, firstOperator } = api.gateway;
    const [, page] = await openPage(browser, faults, options);
    await page.goto(`${connectUrl}/sign-in?next=${encodeURIComponent(`/keys/${firstKey?.id}`)}`);
    await signInOn(page, firstOperator);
    return page;
  }

  async function sign(page: Page, parameters: string): Promise<string> {
    await page
      .getByLabel('Address')
      .fill(`/media/add-border?url=${encodeURIComponent(`${origin}/a.png`)}&${parameters}`);
    await follow(page.getByRole('button', { name: 'Sign address' }));
    return (await page.locator('#signed').textContent()) ?? '';
  }

  const width = 'document.querySelector("figure img").naturalWidth';

  it('is the picture, from the API', async () => {
    const page = await openKey();
    const url = await sign(page, 'width=5&color=dusty rose');
    expect(await page.evaluate(width)).to.equal(50);
    expect(await page.locator('#preview-problem').isVisible()).to.equal(false);
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'image/png']);
    expect(faults).to.deep.equal([]);
    await page.context().close();
  });

  it('gives way to words where none comes, and the url says why', async () => {
    const page = await openKey();
    const url = await sign(page, 'wdth=5');
    await page.locator('#preview-problem:visible').waitFor();
    expect(await page.locator('figure img').isVisible()).to.equal(false);
    expect(await (await fetch(url)).text()).to.include('did you mean');
    expect(faults).to.deep.equal([]);
    await page.context().close();
  });

  it('is there without a script', async () => {
    const page = await openKey({ javaScriptEnabled: false });
    const url = await sign(page, 'width=6');
    expect(await page.getByRole('img', { name: 'Preview' }).boundingBox()).to.include({
      width: 54,
      height: 44,
    });
    await page.getByText('Python', { exact: true }).click();
    expect(await page.locator('#sign-py').isVisible()).to.equal(true);
    expect((await fetch(url)).status).to.equal(200);
    await page.context().close();
  });

  it('is gone with the signing secret that its url was signed with', async () => {
    const page = await openKey();
    const url = await sign(page, 'width=7');
    await follow(page.getByRole('link', { name: 'first key' }));
    await follow(page.getByRole('link', { name: 'Replace it…' }));
    await follow(page.getByRole('button', { name: 'Replace it' }));
    expect((await fetch(url)).status).to.equal(403);
    expect(page.url()).to.match(/\/keys\/key_\w+$/);
    await follow(page.getByRole('link', { name: 'Back to the key' }));
    const anew = await sign(page, 'width=7');
    expect((await fetch(anew)).status).to.equal(200);
    await page.context().close();
  });
});
