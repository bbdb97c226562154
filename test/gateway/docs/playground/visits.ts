import { expect } from 'chai';
import type { HelperShelf } from '../../../../gateway/helpers/live-registry.js';
import type { Helper } from '../../../../gateway/helpers/registry.js';
import { copied, type InPlayground, press } from './in-playground.js';

/** From one page to another. */
export function describeVisits(chromium: InPlayground): void {
  it('keeps the key from page to page, and forgets it at a reload', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords#text=the+cat');
    await page.getByRole('link', { name: 'Helpers' }).first().click();
    await page.getByRole('heading', { name: 'Helpers', exact: true }).waitFor();
    await page.getByRole('link', { name: 'text/diff-two-strings' }).click();
    await page.getByLabel('b', { exact: true }).fill('new');
    expect(await page.title()).to.equal('text/diff-two-strings · helper-gateway');
    expect(await press(page)).to.include('200 ok');
    await page.goBack();
    await page.getByRole('heading', { name: 'Helpers', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'text/remove-stopwords' }).waitFor();
    expect(await page.getByLabel('text').inputValue()).to.equal('the cat');
    expect(await press(page)).to.include('200 ok');
    await page.reload();
    expect(await page.getByLabel('API key').inputValue()).to.equal('');
    expect(await page.getByLabel('text').inputValue()).to.equal('the cat');
  });

  it('takes nothing from who is faster than its scripts, as it would be lost', async () => {
    const page = await chromium.open('/');
    let release = () => {};
    const wanted = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/playground.js', async (route) => {
      await wanted;
      await route.continue();
    });
    await page.goto(`${chromium.gateway.url}/?helper=all/page`, { waitUntil: 'commit' });
    const key = page.getByLabel('API key');
    await key.waitFor();
    await key.focus();
    await page.keyboard.type('early');
    expect(await key.inputValue()).to.equal('');
    release();
    await page.waitForLoadState();
    await key.focus();
    await page.keyboard.type(chromium.gateway.key);
    expect(await press(page)).to.include('200 ok');
  });

  it('takes a key that somebody wrote into the address out of it, and keeps the values', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords&ak=hg_typed#text=the+cat');
    const link = await copied(page.getByRole('button', { name: 'Copy link' }));
    expect(link).to.match(/\/\?helper=text\/remove-stopwords#text=the%20cat$/);
    expect(page.url()).not.to.include('hg_typed');
  });

  it('copies by plain http from another machine too, where browsers offer less', async () => {
    const page = await chromium.open('/?helper=text/remove-stopwords#text=the%20cat');
    await page.evaluate(
      'Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true })',
    );
    const button = page.getByRole('button', { name: 'Copy', exact: true });
    await button.press('Enter');
    // The button says so for a moment only.
    await page.locator('p.hidden[role=status]', { hasText: /^Copied$/ }).waitFor({ state: 'attached' });
    expect(await page.evaluate('document.activeElement.id')).to.equal('copy-snippet');
    await page.evaluate('delete navigator.clipboard');
    expect(await page.evaluate('navigator.clipboard.readText()')).to.match(/^curl .*"text":"the cat"/s);
  });

  it('follows a change of its helper while helpers are written, with key and values as they were', async () => {
    const page = await chromium.open('/');
    await page.route(/helper=/, async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('<body>', '<body data-live>');
      await route.fulfill({ response, body });
    });
    const asked = page.waitForResponse((response) => response.request().method() === 'HEAD');
    await page.goto(`${chromium.gateway.url}/?helper=all/page#`);
    await page.getByLabel('API key').fill('typed');
    await asked;
    const registry = chromium.gateway.gateway.registry as HelperShelf;
    const all = new Map(registry);
    const helper = all.get('all/page') as Helper;
    const declaration = { ...helper.declaration, summary: 'Another sentence.' };
    registry.replaceAll(new Map(all).set('all/page', { ...helper, declaration }));
    try {
      const again = async () => {
        await page.evaluate('dispatchEvent(new Event("focus"))');
        return page.getByText('Another sentence.').count();
      };
      while ((await again()) === 0) await page.evaluate('new Promise(requestAnimationFrame)');
      expect(await page.getByLabel('API key').inputValue()).to.equal('typed');
    } finally {
      registry.replaceAll(all);
    }
  });
}
