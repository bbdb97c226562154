import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Browser, BrowserContextOptions, Download, Page } from 'playwright-core';
import { type Seeded, seed } from '../../bench/seed.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { launchChromium, openPage, requireChromium, signInOn } from './chromium.js';
import { type Hand, keysOn, mouseOn } from './hands.js';

/** From the overview on. */
const mostClicks = 3;

describe('site: the commonest tasks of an operator of many tenants', function () {
  this.timeout(180_000);
  let browser: Browser;
  let gateway: TestGateway;
  let folder: string;
  let seeded: Seeded;
  const faults: string[] = [];
  before(async function () {
    requireChromium.call(this);
    folder = await mkdtemp(join(tmpdir(), 'tasks-'));
    seeded = await seed({ dataDir: folder }, { tenants: 60, keys: 500, days: 40 });
    gateway = await startTestGateway({ HELPER_DATA_DIR: folder, LOG_LEVEL: 'error' });
    browser = await launchChromium();
  });
  after(async () => {
    await browser?.close();
    await gateway?.close();
    if (folder) await rm(folder, { recursive: true });
  });

  async function open(options?: BrowserContextOptions): Promise<Page> {
    const [, page] = await openPage(browser, faults, options);
    page.setDefaultTimeout(15_000);
    await page.goto(`${gateway.gateway.connectUrl}/sign-in`);
    await signInOn(page, seeded.operator);
    return page;
  }

  /** Each way of working has tenants and keys of its own. */
  const ways: readonly [name: string, handOn: (page: Page) => Hand, options?: BrowserContextOptions][] = [
    ['a mouse', mouseOn],
    ['the keyboard alone', keysOn],
    ['a mouse and no script', mouseOn, { javaScriptEnabled: false }],
  ];
  for (const [at, [way, handOn, options]] of ways.entries()) {
    describe(`with ${way}`, () => {
      let page: Page;
      let hand: Hand;
      before(async () => {
        page = await open(options);
      });
      after(() => page.context().close());
      beforeEach(async () => {
        await page.goto(`${gateway.gateway.connectUrl}/overview`);
        hand = handOn(page);
      });
      afterEach(() => expect(hand.clicks, 'clicks').to.be.at.most(mostClicks));

      const button = (name: string) => page.getByRole('button', { name });
      const heading = (name: string) => page.getByRole('heading', { name, exact: true }).first();
      const link = (name: string) => page.getByRole('link', { name, exact: true }).first();
      /** A link, which a script makes a button. */
      const opener = (name: string) => page.getByText(name, { exact: true });
      const search = (text: string, found: string) =>
        hand.type(page.getByRole('search').getByRole('searchbox'), text, heading(found));
      /** One in the middle that is not suspended and has a key in use. */
      function ownTenant(nth = 0) {
        const lives = ({ revoked_at, expires_at, paused_at }: (typeof seeded.tenants)[0]['keys'][0]['row']) =>
          revoked_at === null && expires_at === null && paused_at === null;
        const fit = seeded.tenants.slice(10).flatMap(({ row, keys }) => {
          const key = keys.find((each) => lives(each.row) && each.secrets.length === 1);
          return key && row.suspended_at === null ? [{ name: row.name, key }] : [];
        });
        const own = fit[at * 3 + nth];
        if (!own) throw new Error('the seed has too few tenants');
        return own;
      }

      it('finds a key of a customer', async () => {
        const { name, key } = ownTenant();
        await search(name, name);
        await hand.click(page.locator(`a[href$="${key.row.id}"]`), heading(key.row.label ?? key.row.id));
      });

      it('finds a key by its whole secret, which stays in no address', async () => {
        const { key } = ownTenant();
        await search(key.text, key.row.label ?? key.row.id);
        expect(page.url()).to.include(key.row.id).and.not.to.include(key.text.slice(8));
        await page.goBack();
        expect(page.url()).not.to.include(key.text.slice(8));
      });

      it('sees why calls of a tenant fail', async () => {
        // Its source has been down for three days.
        const { name } = seeded.tenants[1]?.row ?? { name: '' };
        await hand.click(link('Errors'), link(name));
        await hand.click(link(name), heading(name));
        await hand.click(link('Requests'), heading('Requests'));
        await page.getByText('source_failed').first().waitFor();
      });

      it('raises a limit', async () => {
        const { name } = ownTenant();
        await search(name, name);
        await hand.click(link('Settings'), heading('Limits'));
        await hand.type(page.getByLabel('Calls a second'), '77');
        await hand.click(button('Save limits'), page.getByText('Saved'));
      });

      it('rotates a key that has leaked', async () => {
        const { key } = ownTenant(1);
        await search(key.text, key.row.label ?? key.row.id);
        await hand.click(opener('Rotate…'), button('Rotate key'));
        await hand.choose(page.getByLabel('Now'));
        await hand.click(button('Rotate key'), page.locator('#key'));
        expect(await page.locator('#key').textContent()).to.match(/^hg_/);
      });

      it('suspends a tenant and resumes it', async () => {
        const { name } = ownTenant(2);
        await search(name, name);
        await hand.click(opener('Suspend…'), button('Suspend tenant'));
        await hand.click(button('Suspend tenant'), button('Resume'));
        expect(hand.clicks).to.be.at.most(mostClicks);

        await page.goto(`${gateway.gateway.connectUrl}/overview`);
        hand = handOn(page);
        await search(name, name);
        await hand.click(button('Resume'), opener('Suspend…'));
      });

      it('invites a person', async () => {
        const { name } = ownTenant();
        await search(name, name);
        await hand.click(link('Members'), heading('Members'));
        await hand.type(page.getByLabel('For whom'), 'Ada');
        await hand.click(button('Create invitation link'), page.locator('#link'));
      });

      it('exports usage as CSV', async () => {
        await hand.click(link('Usage'), heading('Usage'));
        const download = page.waitForEvent('download');
        hand.clicks += 1;
        const csv = page.getByRole('link', { name: /CSV/ });
        await csv.focus();
        await page.keyboard.press('Enter');
        expect(await textOf(await download)).to.match(/^[\w,]*calls,[\w,]+\r?\n/);
      });

      it('pauses a key', async () => {
        const { key } = ownTenant();
        await search(key.row.id, key.row.label ?? key.row.id);
        await hand.click(opener('Pause…'), button('Pause key'));
        await hand.click(button('Pause key'), page.getByText('The key is paused'));
      });

      it('issues a key', async () => {
        const { name } = ownTenant();
        await search(name, name);
        await hand.type(page.getByRole('textbox', { name: /^Label/ }), 'by hand');
        await hand.click(button('Issue key'), page.locator('#key'));
      });
    });
  }

  it('breaks no policy and throws nowhere', () => expect(faults).to.deep.equal([]));
});

async function textOf(download: Download): Promise<string> {
  return readFile(await download.path(), 'utf8');
}
