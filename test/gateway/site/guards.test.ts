import { request } from 'node:http';
import { expect } from 'chai';
import { createBrowserLike, hiddenFields, signedIn } from './browser-like.js';
import { openTestSite, type TestSite } from './test-site.js';

describe('site: guards of the pages', () => {
  let site: TestSite;
  before(async () => {
    site = await openTestSite();
  });
  after(() => site.close());

  it('sends a policy that allows nothing inline, and keeps pages out of frames and caches', async () => {
    for (const path of ['/sign-in', '/nowhere', '/overview']) {
      const { headers } = await fetch(`${site.url}${path}`, { redirect: 'manual' });
      expect(headers.get('content-security-policy')).to.equal(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      );
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(headers.get('cache-control')).to.equal('no-store');
    }
  });

  it('has nothing inline on its pages', async () => {
    const browser = await signedIn(site.url, site.operator);
    for (const path of ['/overview', '/tenants', '/audit', '/account', '/operators']) {
      const { html } = await browser.get(path);
      expect(html).not.to.match(/<style|\sstyle=|\son\w+=|<script(?![^>]* src=)/);
    }
  });

  it('serves its files to be kept for ever under a name that changes with them', async () => {
    const { html } = await createBrowserLike(site.url).get('/sign-in');
    for (const [name, type] of [
      ['site.css', 'text/css'],
      ['site.js', 'text/javascript'],
      ['icon.svg', 'image/svg+xml'],
    ]) {
      const path = new RegExp(`/assets/[0-9a-f]{12}/${name}`).exec(html)?.[0];
      const answer = await fetch(`${site.url}${path}`);
      expect(answer.headers.get('content-type')).to.match(new RegExp(`^${type?.replace('+', '\\+')}`));
      expect(answer.headers.get('cache-control')).to.include('immutable');
    }
    for (const path of ['/assets/x/app.ts', '/assets/x/..%2f..%2fapp.ts', '/assets/x/constructor']) {
      expect((await fetch(`${site.url}${path}`)).status, path).to.equal(404);
    }
  });

  it('logs a page at info, and the files that it brings along at debug', async () => {
    const { html } = await createBrowserLike(site.url).get('/sign-in');
    const before = site.logs.length;
    await (await fetch(`${site.url}/sign-in`)).text();
    await (await fetch(`${site.url}${/\/assets\/[0-9a-f]{12}\/site.css/.exec(html)?.[0]}`)).text();
    const lines = site.logs.slice(before).map((line) => JSON.parse(line));
    const level = (route: string) => lines.find((line) => line.route === route)?.level;
    expect([level('/sign-in'), level('/assets')]).to.deep.equal([30, 20]);
  });

  it('takes a form from its own pages alone', async () => {
    const browser = await signedIn(site.url, site.operator);
    const token = async () => hiddenFields((await browser.get('/tenants')).html, '/tenants')._token ?? '';
    const send = async (headers: Record<string, string>, _token: string) =>
      (await browser.post('/tenants', { _token, name: `t${Math.random().toString(36).slice(2)}` }, headers))
        .status;
    expect(await send({}, await token())).to.equal(303);
    expect(await send({ origin: site.url, 'sec-fetch-site': 'same-origin' }, await token())).to.equal(303);
    expect(await send({ origin: 'null', 'sec-fetch-site': 'same-origin' }, await token())).to.equal(303);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:1' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
    ]) {
      expect(await send(headers as Record<string, string>, await token()), JSON.stringify(headers)).to.equal(
        403,
      );
    }
    expect(await send({}, '')).to.equal(403);
    expect(await send({}, `${(await token()).slice(1)}A`)).to.equal(403);
    const other = createBrowserLike(site.url);
    const stranger = hiddenFields((await other.get('/sign-in')).html, '/sign-in')._token ?? '';
    expect(await send({}, stranger)).to.equal(403);
  });

  it("refuses a sign-in form that another browser's page made", async () => {
    const stranger = createBrowserLike(site.url);
    const { _token = '' } = hiddenFields((await stranger.get('/sign-in')).html, '/sign-in');
    const victim = createBrowserLike(site.url);
    const page = await victim.post('/sign-in', { ...site.operator, _token });
    expect(page.status).to.equal(403);
    expect(page.headers.getSetCookie().join()).not.to.include('session_token');
  });

  it('refuses names that are not its own, in which another site could dress up', async () => {
    const status = (host: string, path = '/sign-in') =>
      new Promise<number>((resolve, reject) => {
        request(new URL(path, site.url), { headers: { host } }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        })
          .on('error', reject)
          .end();
      });
    for (const host of ['localhost:8081', '127.0.0.1', '[::1]:8081', '192.0.2.7:8081', 'LOCALHOST']) {
      expect(await status(host), host).to.equal(200);
    }
    for (const host of [
      'evil.example',
      'evil.example:8081',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'a b',
    ]) {
      expect(await status(host), host).to.equal(403);
    }
    expect(await status('gateway:8081', '/api/tenants')).to.equal(401);
  });

  it('answers what it cannot read with a page, not a fault', async () => {
    const browser = await signedIn(site.url, site.operator);
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
    const post = (body: string | Buffer<ArrayBuffer>, type: string) =>
      fetch(`${site.url}/tenants`, { method: 'POST', body, headers: { cookie, 'content-type': type } });
    const form = 'application/x-www-form-urlencoded';
    expect((await post('name=a&name=b', form)).status).to.equal(400);
    expect((await post('name=%zz', form)).status).to.equal(400);
    expect((await post(Buffer.from([0x61, 0xff]), form)).status).to.equal(400);
    expect((await post('{}', 'application/json')).status).to.equal(415);
    expect((await post(`name=${'a'.repeat(70_000)}`, form)).status).to.equal(413);
    for (const path of [
      '/tenants?after=%00',
      '/audit?before=x',
      '/keys?after=%zz',
      '/tenants/acme%00',
      '/%',
      '/tenants/%ff',
    ]) {
      const { status } = await browser.get(path);
      expect(status, path).to.be.oneOf([200, 400, 404]);
    }
    expect((await fetch(`${site.url}/sign-in`, { method: 'DELETE' })).status).to.equal(405);
  });
});
