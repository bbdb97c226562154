import { expect } from 'chai';
import { operatorToken, startTestGateway, type TestGateway } from '../harness.js';

const pages = ['/', '/?helper=text/diff-two-strings', '/docs', '/openapi.json'];

describe('docs: pages and documents', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startTestGateway();
  });
  after(() => gateway?.close());
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    gateway.call(path, { key: null, headers, method });

  it('need no key, and are revalidated each time', async () => {
    for (const path of pages) {
      const { status, headers, bytes } = await get(path);
      expect([status, headers.get('cache-control')]).to.deep.equal([200, 'no-cache']);
      expect(bytes.length).to.be.above(100);
      const etag = headers.get('etag') ?? '';
      // By itself fetch would request the whole.
      const again = await get(path, { 'if-none-match': etag, 'cache-control': 'max-age=0' });
      expect([again.status, again.bytes.length]).to.deep.equal([304, 0]);
    }
  });

  it('answer HEAD without a body, and other methods with 405', async () => {
    for (const path of pages) {
      const head = await get(path, {}, 'HEAD');
      expect([head.status, head.bytes.length]).to.deep.equal([200, 0]);
      const { status, headers } = await get(path, {}, 'POST');
      expect([status, headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, OPTIONS']);
    }
  });

  it('have files that may be cached for ever, whatever they are compressed with', async () => {
    const paths = new Set<string>();
    for (const page of [...pages.slice(0, 3), '/?helper=media/add-border']) {
      const html = new TextDecoder().decode((await get(page)).bytes);
      for (const [, path = ''] of html.matchAll(/(?:src|href|data-sample)="(\/docs\/assets\/[^"]+)"/g)) {
        paths.add(path);
      }
    }
    expect(paths.size).to.be.above(15);
    for (const path of paths) {
      const [plain, ...others] = await Promise.all(
        ['identity', 'gzip', 'br'].map((encoding) => get(path, { 'accept-encoding': encoding })),
      );
      expect([plain?.status, plain?.headers.get('content-encoding')], path).to.deep.equal([200, null]);
      expect(plain?.headers.get('cache-control')).to.include('immutable');
      for (const other of others)
        expect(Buffer.compare(other.bytes, plain?.bytes ?? other.bytes)).to.equal(0);
      const tags = new Set([plain, ...others].map((each) => each?.headers.get('etag')));
      expect(tags.size).to.be.oneOf([1, 3]);
    }
    const bundle = [...paths].find((path) => path.endsWith('bundle.js')) ?? '';
    expect((await get(bundle, { 'accept-encoding': 'br' })).headers.get('content-encoding')).to.equal('br');
    expect((await get(bundle.replace(/assets\/\w+/, 'assets/000000000000'))).status).to.equal(404);
  });

  it('let nothing in from elsewhere, and nothing inline', async () => {
    for (const page of ['/?helper=media/add-border', ...pages.slice(0, 3)]) {
      const { headers, bytes } = await get(page);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).to.include("default-src 'none'").and.include("frame-ancestors 'none'");
      expect(policy).not.to.match(/unsafe|https?:|\*/);
      // A page with a key is in no frame, and shares nothing with the page that opened it.
      const names = ['x-frame-options', 'cross-origin-opener-policy', 'referrer-policy'];
      const values = names.map((name) => headers.get(name));
      expect(values).to.deep.equal(['DENY', 'same-origin', 'no-referrer']);
      const html = new TextDecoder().decode(bytes);
      expect(html, page).not.to.match(/<style| style=|<script(?![^>]* src=)| on\w+=/);
    }
  });
});

describe('docs: with HELPER_DOCS=off', () => {
  const nothing = 'Nothing is served at this path.';
  let gateway: TestGateway;
  before(async () => {
    gateway = await startTestGateway({ HELPER_DOCS: 'off', HELPER_OPERATOR_TOKEN: operatorToken });
  });
  after(() => gateway.close());

  it('are not served', async () => {
    for (const key of [null, gateway.key]) {
      for (const path of pages) expect((await gateway.call(path, { key })).status).to.equal(404);
    }
  });

  it('name no path to a client without a key', async () => {
    const near = '/text/difff /media/add-border/ /img/add-bordr /docs/ /openapi.jso /job /mcpp';
    for (const path of near.split(' ')) {
      for (const key of [null, 'nonsense', '']) {
        for (const method of ['GET', 'POST', 'OPTIONS', 'PUT']) {
          const { status, json } = await gateway.call(path, { key, method });
          expect([status, json.error.message, json.meta.service]).to.deep.equal([404, nothing, null]);
        }
      }
    }
    const wrong = await gateway.call('/media/resize', { key: null, method: 'PUT' });
    expect(wrong.json.error.message).to.equal('This path takes GET, HEAD, POST and OPTIONS, not PUT.');
  });

  it('name those that a key opens', async () => {
    const { key } = await gateway.manage('/api/tenants/demo/keys', { scopes: ['text/*'] });
    const headers = { authorization: `Bearer ${gateway.key}` };
    for (const [path, init, named] of [
      ['/text/difff', {}, '/text/diff-two-strings'],
      ['/text/difff', { key }, '/text/diff-two-strings'],
      ['/text/difff', { key: null, headers }, '/text/diff-two-strings'],
      ['/media/add-bordr', {}, '/media/add-border'],
      ['/media/add-bordr', { key }, undefined],
    ] as const) {
      const { message } = (await gateway.call(path, init)).json.error;
      expect(message).to.equal(named === undefined ? nothing : `${nothing} Did you mean ${named}?`);
    }
  });
});
