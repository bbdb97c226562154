import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import sharp from 'sharp';
import { createKeyAdmin, type KeyAdmin } from '../../gateway/keys/admin.js';
import { signUrl } from '../../gateway/signing/signed-url.js';
import { createSigningSecrets } from '../../gateway/signing/signing-secrets.js';
import { fixture } from '../fixtures.js';
import { until } from '../needs.js';
import { createPostgresDatabase, onEachDatabase, requirePostgres, type TestDatabase } from './databases.js';
import { type Answer, type CallInit, startTestGateway, type TestGateway } from './harness.js';
import { master, signing } from './signing/signing.js';
import { expectRefusals } from './signing/tamper.js';

describe('signed urls that are tampered with', () => {
  it('open nothing', async () => {
    const api = await startTestGateway({ HELPER_SIGNING_SECRET: master });
    try {
      const kid = api.gateway.firstKey?.id ?? '';
      const url = '/media/add-border?dryrun=1&color=dusty%20rose&width=7';
      const exp = Math.floor(Date.now() / 1000) + 3600;
      const right = signUrl({ url, kid, secret: signing.current(kid, 1), exp });
      await expectRefusals(api.url, right, { draws: 5000, seed: 8 });
    } finally {
      await api.close();
    }
  });
});

const [earlier, later] = ['before-'.repeat(6), 'afterwards-'.repeat(4)];
const exp = 4_000_000_000;

describe('gateways that take signed urls', () =>
  onEachDatabase((database) => {
    let open: TestGateway[];
    let admin: KeyAdmin;
    let kid: string;

    beforeEach(async () => {
      open = [];
      const store = await database().open();
      const signing = createSigningSecrets([earlier]);
      admin = createKeyAdmin({ store, signing, services: () => [] });
      await admin.createTenant('acme', 'ann');
      kid = (await admin.issueKey('acme', {}, 'ann')).id;
    });
    afterEach(async () => {
      for (const gateway of open) await gateway.close();
    });

    async function start(masters: string): Promise<TestGateway> {
      const gateway = await startTestGateway({ ...address(database()), HELPER_SIGNING_SECRET: masters });
      open.push(gateway);
      return gateway;
    }
    const signed = (secret: string) =>
      signUrl({ url: '/text/remove-stopwords?text=the+cat', kid, secret, exp });
    const codeAt = async (gateway: TestGateway, url: string) => {
      const { json } = await gateway.call(url, { key: null });
      return json.ok ? 'ok' : json.error.code;
    };

    it('change their master secret without a broken page', async () => {
      const [old, both, only] = [
        await start(earlier),
        await start(`${later},${earlier}`),
        await start(later),
      ];
      const byOld = signed(createSigningSecrets([earlier]).current(kid, 1));
      const byNew = signed(createSigningSecrets([later, earlier]).current(kid, 1));
      const codes = (url: string) => Promise.all([old, both, only].map((gateway) => codeAt(gateway, url)));
      expect(await codes(byOld)).to.deep.equal(['ok', 'ok', 'signature_invalid']);
      expect(await codes(byNew)).to.deep.equal(['signature_invalid', 'ok', 'ok']);
    });

    it('refuse all that was signed once the secret is replaced, and take the new one at once', async () => {
      const gateways = [await start(earlier), await start(earlier)];
      const codes = (url: string) => Promise.all(gateways.map((gateway) => codeAt(gateway, url)));
      const first = signed((await admin.signingSecret(kid, 'ann')).signing_secret);
      expect(await codes(first)).to.deep.equal(['ok', 'ok']);
      const { key } = await admin.rotateKey(kid, { grace_seconds: 0 }, 'ann');
      await until(
        async () => (await gateways[0]?.call('/text/remove-stopwords?text=a', { key }))?.status === 200,
      );
      expect(await codes(first)).to.deep.equal(['ok', 'ok']);
      const second = signed((await admin.rotateSigning(kid, 'ann')).signing_secret);
      expect(await codes(second)).to.deep.equal(['ok', 'ok']);
      await until(async () => String(await codes(first)) === 'signature_invalid,signature_invalid');
      await admin.revokeKey(kid, 'ann');
      await until(async () => String(await codes(second)) === 'key_revoked,key_revoked');
    });
  }));

describe('a gateway with PostgreSQL and without a master secret', () => {
  let database: TestDatabase;
  let gateway: TestGateway;
  before(async function () {
    await requirePostgres.call(this);
    database = await createPostgresDatabase();
    gateway = await startTestGateway(address(database));
  });
  after(async () => {
    await gateway?.close();
    await database?.drop();
  });

  it('serves keys', async () => {
    expect((await gateway.call('/text/remove-stopwords?text=a')).status).to.equal(200);
  });

  it('names the variable to who calls with a signature, and tells no key from another', async () => {
    for (const kid of [gateway.gateway.firstKey?.id ?? '', 'key_nobody']) {
      const secret = createSigningSecrets([earlier]).current(kid, 1);
      const url = signUrl({ url: '/text/remove-stopwords?text=a', kid, secret, exp });
      const { status, json } = await gateway.call(url, { key: null });
      expect([status, json.error.code]).to.deep.equal([503, 'storage_unavailable']);
      expect(json.error.message).to.include('HELPER_SIGNING_SECRET');
    }
  });
});

function address({ kind, location }: TestDatabase): Record<string, string> {
  return kind === 'sqlite' ? { HELPER_DATA_DIR: location } : { DATABASE_URL: location };
}

const hour = 3600;
const nowSeconds = () => Date.now() / 1000;

/** What a browser or a CDN may keep of a signed url, over HTTP. */
describe('answers of signed urls', () => {
  let images: Server;
  let origin: string;
  let downloads = 0;
  let open: TestGateway[];
  before(async () => {
    const create = { width: 40, height: 30, channels: 3, background: '#3060c0' } as const;
    const picture = await sharp({ create }).png().toBuffer();
    images = createServer(({ url }, response) => {
      downloads += 1;
      if (url === '/none.png') response.statusCode = 404;
      response.setHeader('cache-control', 'max-age=600').end(picture);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => images.once('listening', resolve));
    origin = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
  });
  after(() => void images.close());
  beforeEach(() => {
    open = [];
    downloads = 0;
  });
  afterEach(async () => {
    for (const api of open) await api.close();
  });

  async function start(env: Record<string, string> = {}) {
    const own = { HELPER_SIGNING_SECRET: master, HELPER_SOURCE_ORIGINS: origin };
    const api = await startTestGateway({ ...own, HELPER_PLUGINS: fixture('plugins/reuse'), ...env });
    open.push(api);
    const kid = api.gateway.firstKey?.id ?? '';
    const secret = signing.current(kid, 1);
    const sign = (path: string, exp = Math.floor(nowSeconds()) + 10 * hour) =>
      signUrl({ url: path, kid, secret, exp });
    const call = (url: string, init?: CallInit) => api.call(url, { key: null, ...init });
    return { api, sign, call };
  }
  const border = (more = '', path = '/media/add-border', name = 'a') =>
    `${path}?url=${encodeURIComponent(`${origin}/${name}.png`)}${more}`;
  const told = ({ status, headers }: Answer) => [
    status,
    ...['cache-control', 'x-cache', 'etag'].map((name) => headers.get(name)),
  ];

  it('may be kept by all, and are told by one tag whatever the url', async () => {
    const { api, sign, call } = await start();
    const first = await call(sign(border()));
    const tag = first.headers.get('etag');
    expect(tag).to.match(/^"[\w-]{43}"$/);
    expect(told(first)).to.deep.equal([200, `public, max-age=${hour}`, 'miss', tag]);
    const hit = [200, `public, max-age=${hour}`, 'hit', tag];
    const later = Math.floor(nowSeconds()) + 99 * hour;
    for (const url of [sign(border(), later), sign(border('', '/img/add-border')), sign(border('&width=20'))])
      expect(told(await call(url))).to.deep.equal(hit);
    const head = await call(sign(border()), { method: 'HEAD' });
    expect(told(head)).to.deep.equal(hit);
    expect(head.headers.get('content-length')).to.equal(String(first.bytes.length));
    // The same picture asked for with a key is that customer's alone.
    expect(told(await api.call(border()))).to.deep.equal([200, 'private, no-store', 'hit', tag]);
    expect(downloads).to.equal(1);
  });

  it('are not sent to who has them, and still only to a right signature', async () => {
    const { sign, call } = await start();
    const url = sign(border());
    const tag = (await call(url)).headers.get('etag') as string;
    for (const method of ['GET', 'HEAD']) {
      const answer = await call(url, { method, headers: { 'if-none-match': `W/${tag}` } });
      expect(told(answer)).to.deep.equal([304, `public, max-age=${hour}`, 'hit', tag]);
      expect(answer.bytes.length).to.equal(0);
    }
    for (const [wrong, code] of [
      [`${url.slice(0, -1)}~`, 'signature_invalid'],
      [sign(border(), 1_000_000_000), 'signature_expired'],
    ] as const) {
      const answer = await call(wrong, { headers: { 'if-none-match': tag } });
      expect([...told(answer), answer.json.error.code]).to.deep.equal([403, 'no-store', null, null, code]);
    }
  });

  it('are kept no longer than the url holds, be they sent or known', async () => {
    const { sign, call } = await start();
    const exp = Math.floor(nowSeconds()) + hour / 2;
    const url = sign(border(), exp);
    const headers = { 'if-none-match': (await call(url)).headers.get('etag') as string };
    for (const init of [{}, { headers }]) {
      const before = nowSeconds();
      const { headers: fields } = await call(url, init);
      const [, seconds] = /^public, max-age=(\d+)$/.exec(fields.get('cache-control') ?? '') ?? [];
      expect(Number(seconds)).to.be.within(Math.floor(exp - nowSeconds()), exp - before);
    }
  });

  it('are kept no longer than their key holds', async () => {
    const token = 'operator-token-for-tests-of-32-characters';
    const { api, call } = await start({ HELPER_OPERATOR_TOKEN: token });
    const until = nowSeconds() + hour / 4;
    const response = await fetch(new URL('/api/tenants/demo/keys', api.gateway.connectUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ expires_at: new Date(until * 1000).toISOString() }),
    });
    const { data } = (await response.json()) as { data: { id: string; signing_secret: string } };
    const exp = Math.floor(nowSeconds()) + 10 * hour;
    const url = signUrl({ url: border(), kid: data.id, secret: data.signing_secret, exp });
    const before = nowSeconds();
    const { headers } = await call(url);
    const [, seconds] = /^public, max-age=(\d+)$/.exec(headers.get('cache-control') ?? '') ?? [];
    expect(Number(seconds)).to.be.within(Math.floor(until - nowSeconds()), until - before);
  });

  it('are kept as long as HELPER_CACHE_TTL says', async () => {
    for (const [ttl, seconds] of [
      ['10m', 600],
      ['0', 0],
    ] as const) {
      const { sign, call } = await start({ HELPER_CACHE_TTL: ttl });
      const { status, headers } = await call(sign(border()));
      expect([status, headers.get('cache-control')]).to.deep.equal([200, `public, max-age=${seconds}`]);
    }
  });

  it('are kept nowhere where they are no pictures', async () => {
    const { sign, call } = await start();
    const others = [
      [200, border('&dryrun=true')],
      [400, border('&width=-1')],
      [502, border('', '/media/add-border', 'none')],
      [200, '/text/remove-stopwords?text=the+cat'],
      [200, '/text/diff-two-strings?a=1&b=2&dryrun=1'],
    ] as const;
    for (const [status, path] of others)
      expect(told(await call(sign(path))), path).to.deep.equal([status, 'no-store', null, null]);
  });

  it('are an outside plugin’s too, which says itself what may be kept of them', async () => {
    const { sign, call } = await start();
    const says = (more = '') => sign(border(more, '/says'));
    const [, control, found] = told(await call(says()));
    expect([control, found]).to.deep.equal([`public, max-age=${hour}`, 'miss']);
    expect(told(await call(says())).slice(0, 3)).to.deep.equal([200, control, 'hit']);
    const own = await call(says('&control=max-age%3D5'));
    expect(own.headers.get('cache-control')).to.equal('max-age=5');
    expect((await call(`${says()}&control=no-store`)).status).to.equal(403);
  });
});
