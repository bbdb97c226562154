import { expect } from 'chai';
import { cacheDocs } from '../../../gateway/docs/doc-route.js';
import { startTestGateway, type TestGateway } from '../harness.js';

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
      expect(status).to.equal(200);
      expect(headers.get('cache-control')).to.equal('no-cache');
      expect(bytes.length).to.be.above(100);
      const again = await get(path, {
        'if-none-match': headers.get('etag') ?? '',
        // By itself fetch would ask for the whole.
        'cache-control': 'max-age=0',
      });
      expect(again.status).to.equal(304);
      expect(again.bytes).to.have.length(0);
    }
  });

  it('answer HEAD without a body, and other methods with 405', async () => {
    for (const path of pages) {
      const head = await get(path, {}, 'HEAD');
      expect(head.status).to.equal(200);
      expect(head.bytes).to.have.length(0);
      const posted = await get(path, {}, 'POST');
      expect(posted.status).to.equal(405);
      expect(posted.headers.get('allow')).to.equal('GET, HEAD, OPTIONS');
    }
  });

  it('have files that may be cached for ever, whatever they are compressed with', async () => {
    const page = new TextDecoder().decode((await get('/docs')).bytes);
    const paths = [...page.matchAll(/(?:src|href)="(\/docs\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
    expect(paths).to.have.length(5);
    for (const path of paths) {
      const files = await Promise.all(
        ['identity', 'gzip', 'br'].map((encoding) => get(path, { 'accept-encoding': encoding })),
      );
      const [plain, ...others] = files;
      expect(plain?.headers.get('cache-control')).to.include('immutable');
      expect(plain?.headers.get('content-encoding')).to.equal(null);
      for (const other of others)
        expect(Buffer.compare(other.bytes, plain?.bytes ?? Buffer.alloc(0))).to.equal(0);
      expect(new Set(files.map(({ headers }) => headers.get('etag'))).size).to.be.oneOf([1, 3]);
    }
    const bundle = paths.find((path) => path.endsWith('bundle.js')) ?? '';
    expect((await get(bundle, { 'accept-encoding': 'br' })).headers.get('content-encoding')).to.equal('br');
    expect((await get(bundle.replace(/assets\/\w+/, 'assets/000000000000'))).status).to.equal(404);
  });

  it('let nothing in from elsewhere, and nothing inline', async () => {
    for (const page of pages.slice(0, 3)) {
      const { headers, bytes } = await get(page);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).to.include("default-src 'none'").and.include("frame-ancestors 'none'");
      expect(policy).not.to.match(/unsafe|https?:|\*/);
      // A page with a key is in no frame, and shares nothing with the page that opened it.
      expect(headers.get('x-frame-options')).to.equal('DENY');
      expect(headers.get('cross-origin-opener-policy')).to.equal('same-origin');
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(new TextDecoder().decode(bytes), page).not.to.match(/<style|style=|<script>/);
    }
  });
});

describe('docs: with HELPER_DOCS=off', () => {
  const token = 'token-of-this-test-of-32-characters';
  let gateway: TestGateway;
  before(async () => {
    gateway = await startTestGateway({ HELPER_DOCS: 'off', HELPER_OPERATOR_TOKEN: token });
  });
  after(() => gateway.close());

  it('are not served', async () => {
    for (const key of [null, gateway.key]) {
      for (const path of pages) expect((await gateway.call(path, { key })).status).to.equal(404);
    }
  });

  it('name no path to a client without a key', async () => {
    const paths = [
      '/text/difff',
      '/media/add-border/',
      '/img/add-bordr',
      '/docs/',
      '/openapi.jso',
      '/job',
      '/mcpp',
    ];
    for (const path of paths) {
      for (const key of [null, 'nonsense', '']) {
        for (const method of ['GET', 'POST', 'OPTIONS', 'PUT']) {
          const { status, json } = await gateway.call(path, { key, method });
          expect([status, json.error.message, json.meta.service], path).to.deep.equal([
            404,
            'Nothing is served at this path.',
            null,
          ]);
        }
      }
    }
    const wrong = await gateway.call('/media/resize', { key: null, method: 'PUT' });
    expect(wrong.json.error.message).to.equal('This path takes GET, HEAD, POST and OPTIONS, not PUT.');
  });

  it('name those that a key opens', async () => {
    const response = await fetch(new URL('/api/tenants/demo/keys', gateway.gateway.connectUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ scopes: ['text/*'] }),
    });
    const { data } = (await response.json()) as { data: { key: string } };
    const message = async (path: string, key: string) =>
      (await gateway.call(path, { key })).json.error.message;
    expect(await message('/text/difff', gateway.key)).to.include('Did you mean /text/diff-two-strings?');
    expect(await message('/text/difff', data.key)).to.include('Did you mean /text/diff-two-strings?');
    expect(await message('/media/add-bordr', gateway.key)).to.include('Did you mean /media/add-border?');
    expect(await message('/media/add-bordr', data.key)).to.equal('Nothing is served at this path.');
    const headers = { authorization: `Bearer ${gateway.key}` };
    const bearer = await gateway.call('/text/difff', { key: null, headers });
    expect(bearer.json.error.message).to.include('Did you mean');
  });
});

describe('cacheDocs', () => {
  it('makes each thing once, and caches no more than it may', () => {
    const cached = cacheDocs<object>(2);
    const first = cached('a', () => ({}));
    const second = cached('b', () => ({}));
    expect(cached('c', () => ({}))).not.to.equal(cached('c', () => ({})));
    expect([cached('a', () => ({})), cached('b', () => ({}))]).to.deep.equal([first, second]);
  });
});
