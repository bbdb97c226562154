import { expect } from 'chai';
import sharp from 'sharp';
import type { Database } from '../../gateway/database/database.js';
import { createKeyAdmin, type KeyAdmin } from '../../gateway/keys/admin.js';
import { createKeyStore } from '../../gateway/keys/store.js';
import { signUrl } from '../../gateway/signing/signed-url.js';
import { connect } from './databases.js';
import { type Answer, type CallInit, shareGateway, startTestGateway, type TestGateway } from './harness.js';
import { compileRecipe } from './keys/recipe-compiler.js';
import { master, signing } from './signing/signing.js';
import { expectRefusals } from './signing/tamper.js';

const soon = () => Math.floor(Date.now() / 1000) + 3600;

describe('signed urls', () => {
  let database: Database;
  let admin: KeyAdmin;
  let api: TestGateway;
  let kid: string;

  before(async () => {
    const shared = await shareGateway();
    api = shared.api;
    database = await connect({ kind: 'sqlite', location: shared.dataDir });
    const store = createKeyStore(database.access());
    admin = createKeyAdmin({
      store,
      signing,
      compileRecipe,
      services: () => [...api.gateway.registry.keys()],
    });
    await admin.createTenant('signer', 'ann');
    await admin.editTenant('signer', { rate: 1000 }, 'ann');
    kid = (await admin.issueKey('signer', {}, 'ann')).id;
  });
  after(() => database.close());

  const sign = (url: string, { id = kid, version = 1, exp = soon() } = {}) =>
    signUrl({ url, kid: id, secret: signing.current(id, version), exp });
  const open = (url: string, init?: CallInit) => api.call(url, { key: null, ...init });
  const codeOf = ({ status, json }: Answer) => `${status} ${json?.error?.code ?? 'ok'}`;

  it('open the helper with the input that was signed, as the key', async () => {
    const { status, json, headers } = await open(sign('/hello?name=Ada%20L'));
    expect([status, json.data.greeting]).to.deep.equal([200, 'Hello Ada L!']);
    expect(headers.get('ratelimit')).to.match(/"rate"/);
    expect(api.log.at(-1)).to.include({ msg: 'call', key: kid, tenant: 'signer', path: '/hello' });
    expect((await open(sign('/hello?name=Ada'), { method: 'HEAD' })).status).to.equal(200);
    const border = '/media/add-border?dryrun=1&url=https%3A%2F%2Fexample.com%2Fa%20b.jpg';
    for (const path of [border, border.replace('/media/', '/img/')])
      expect(codeOf(await open(sign(path)))).to.equal('200 ok');
  });

  it('are checked by the path as it is sent', async () => {
    const signed = sign('/media/add-border?dryrun=1');
    expect(codeOf(await open(signed.replace('/media/', '/img/')))).to.equal('403 signature_invalid');
    // There is one way to write a path that is served.
    expect(codeOf(await open(signed.replace('-', '%2D')))).to.equal('404 not_found');
  });

  it('hand on what is wrong with the input, and nothing of the signature', async () => {
    const answer = await open(sign('/hello?nme=Ada'));
    expect(codeOf(answer)).to.equal('400 invalid_input');
    expect(JSON.stringify(answer.json.error)).not.to.match(/\b(?:kid|exp|sig)\b/);
  });

  it('say the same, byte for byte, whatever is wrong with the signature', async () => {
    const right = sign('/hello?name=Ada');
    const wrong = [
      ...Object.entries({
        kid: ['key_none', 'nonsense', ''],
        // The last has expired, which is reported only to those who could sign.
        exp: ['soon', '-1', '1', `0${soon()}`, `${soon()}.5`, '1000000000'],
        sig: ['short', '', 'A'.repeat(43), '%zz'],
        name: ['Eve', '%ff'],
      }).flatMap(([name, values]) =>
        values.map((value) => right.replace(new RegExp(`${name}=[^&]*`), `${name}=${value}`)),
      ),
      right.replace('&kid=', '&kd='),
      right.replace('&exp=', '&xp='),
      right.replace('&sig=', '&SIG='),
      right.replace(/&sig=.*/, ''),
      right.replace(/&kid=[^&]*/, ''),
      `${right}&more=1`,
      `${right}&name=Ada`,
      `${right}&kid=${kid}`,
      `${right}=`,
      sign('/hello?name=Ada', { version: 3 }),
    ];
    const answers = await Promise.all(
      wrong.map(async (url) => {
        const { status, headers, json } = await open(url);
        const fields = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
        return JSON.stringify([status, fields, { ...json, meta: { ...json.meta, request_id: '' } }]);
      }),
    );
    for (const [at, answer] of answers.entries()) expect(answer, wrong[at]).to.equal(answers[0]);
    expect(answers[0]).to.include('[403,').and.include('signature_invalid');
  });

  it('pass in no tampering over HTTP either', async () => {
    const right = sign('/media/add-border?dryrun=1&color=dusty%20rose&width=7');
    await expectRefusals(api.url, right, { draws: 500, seed: 7 });
  });

  it('end when they say, and say so only of a right signature', async () => {
    const past = Math.floor(Date.now() / 1000) - 1;
    for (const [version, code] of [
      [1, 'signature_expired'],
      [3, 'signature_invalid'],
    ] as const)
      expect(codeOf(await open(sign('/hello?name=Ada', { exp: past, version })))).to.equal(`403 ${code}`);
  });

  it('may do what the key may', async () => {
    const { id } = await admin.issueKey('demo', { scopes: ['text/*'] }, 'ann');
    expect(codeOf(await open(sign('/hello?name=Ada', { id })))).to.equal('403 scope_denied');
    const allowed = sign('/text/remove-stopwords?text=a', { id });
    expect(codeOf(await open(allowed))).to.equal('200 ok');
  });

  it('of a revoked key say so only to callers that could sign', async () => {
    const { id } = await admin.issueKey('demo', {}, 'ann');
    await admin.revokeKey(id, 'ann');
    const url = sign('/hello?name=Ada', { id });
    const { status, json, headers } = await open(url);
    expect([status, json.error.code]).to.deep.equal([401, 'key_revoked']);
    expect(headers.get('www-authenticate')).to.match(/^Bearer/);
    const forged = url.replace(/sig=.*/, `sig=${'A'.repeat(43)}`);
    expect(codeOf(await open(forged))).to.equal('403 signature_invalid');
  });

  it('are for GET and HEAD alone, whatever else a POST brings', async () => {
    const url = sign('/hello?name=Ada');
    for (const init of [{}, { headers: { authorization: `Bearer ${api.key}` } }, { key: api.key }]) {
      const answer = await open(url, { ...init, body: {} });
      expect(codeOf(answer)).to.equal('405 method_not_allowed');
      expect(answer.headers.get('allow')).to.equal('GET, HEAD');
    }
  });

  it('accept no key beside the signature', async () => {
    const url = sign('/hello?name=Ada');
    const beside = [
      ['ak', await open(url, { key: api.key })],
      ['ak', await open(`${url}&ak=`)],
      ['sig', await open(url, { headers: { authorization: `Bearer ${api.key}` } })],
    ] as const;
    for (const [field, { status, json }] of beside)
      expect([status, json.error.details[0].field]).to.deep.equal([400, field]);
    const basic = await open(url, { headers: { authorization: 'Basic YTpi' } });
    expect(codeOf(basic)).to.equal('200 ok');
  });

  it('leave no signature or key in the log, also where the query has become part of the path', async () => {
    const url = sign('/hello?name=Ada');
    const before = api.log.length;
    for (const each of [url, `${url}A`]) await open(each);
    expect(JSON.stringify(api.log.slice(before))).not.to.match(/sig=|[?&]kid=/);
    const { search } = new URL(url, api.url);
    for (const start of ['%3F', '&']) {
      const before = api.log.length;
      await open(`/hello${start}${search.slice(1)}&ak=${api.key}`);
      const [line] = api.log.slice(before) as { path?: string }[];
      expect(line?.path).to.match(/^\/hello(?:%3F|&)name=Ada&kid=/);
      expect(line?.path).to.match(/&sig=….*&ak=…$/);
    }
    const lost = api.log.length;
    for (const query of [
      '%3Fak=KEY&name=Ada',
      '%3fak%3DKEY',
      '%3Fname=Ada%26ak%3dKEY',
      '%3Fname=Ada%26sig=KEY%26kid=a',
    ])
      await open(`/hello${query.replace('KEY', api.key)}`);
    const lines = api.log.slice(lost) as { path?: string }[];
    expect(lines.map(({ path }) => path)).to.deep.equal([
      '/hello%3Fak=…&name=Ada',
      '/hello%3fak%3D…',
      '/hello%3Fname=Ada%26ak%3d…',
      '/hello%3Fname=Ada%26sig=…%26kid=a',
    ]);
    expect(JSON.stringify(lines)).not.to.include(api.key);
  });

  it('are nothing to agents, whose address takes a key as ever', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const headers = { accept: 'application/json, text/event-stream', authorization: `Bearer ${api.key}` };
    const plain = await open('/mcp', { body, headers });
    expect((await open('/mcp?sig=x&kid=y', { body, headers })).status).to.equal(plain.status);
    expect(codeOf(await open(sign('/mcp'), { body }))).to.equal('401 key_missing');
  });

  it('use nothing of the tenant’s rate where they are refused', async () => {
    await admin.createTenant('slow', 'ann');
    await admin.editTenant('slow', { rate: 2 }, 'ann');
    const { id } = await admin.issueKey('slow', {}, 'ann');
    const url = '/text/remove-stopwords?text=a';
    for (let n = 0; n < 10; n += 1) {
      expect((await open(`${sign(url, { id })}A`)).status).to.equal(403);
      expect((await open(sign(url, { id, exp: 1_000_000_000 }))).status).to.equal(403);
    }
    expect((await open(sign(url, { id }))).headers.get('ratelimit')).to.include('r=1');
  });
});

const hour = 3600;
const nowSeconds = () => Date.now() / 1000;

/** What a browser or a CDN may keep of a signed url. */
describe('answers of signed urls', () => {
  let api: TestGateway;
  let origin: string;
  let picture: Buffer;
  let downloads = 0;
  let width = 0;
  before(async () => {
    ({ api, origin } = await shareGateway(({ url }, response) => {
      downloads += 1;
      if (url === '/none.png') response.statusCode = 404;
      response.setHeader('cache-control', 'max-age=600').end(picture);
    }));
    const create = { width: 40, height: 30, channels: 3, background: '#3060c0' } as const;
    picture = await sharp({ create }).png().toBuffer();
  });
  beforeEach(() => {
    downloads = 0;
    // No test finds the result of another in the cache.
    width += 1;
  });

  const sign = (url: string, exp = Math.floor(nowSeconds()) + 10 * hour) => {
    const kid = api.gateway.firstKey?.id ?? '';
    return signUrl({ url, kid, secret: signing.current(kid, 1), exp });
  };
  const call = (url: string, init?: CallInit) => api.call(url, { key: null, ...init });
  const border = (more = '', path = '/media/add-border') =>
    `${path}?url=${encodeURIComponent(`${origin}/${width}.png`)}&width=${width}${more}`;
  const seen = ({ status, headers }: Answer) => [
    status,
    ...['cache-control', 'x-cache', 'etag'].map((name) => headers.get(name)),
  ];
  const publicFor = ({ headers }: Answer) =>
    Number(/^public, max-age=(\d+)$/.exec(headers.get('cache-control') ?? '')?.[1]);
  const hourly = `public, max-age=${hour}`;

  it('may be kept by all, and have one tag whatever the url', async () => {
    const first = await call(sign(border()));
    const tag = first.headers.get('etag');
    expect(tag).to.match(/^"[\w-]{43}"$/);
    expect(seen(first)).to.deep.equal([200, hourly, 'miss', tag]);
    const later = Math.floor(nowSeconds()) + 99 * hour;
    for (const url of [
      sign(border(), later),
      sign(border('', '/img/add-border')),
      sign(border('&color=black')),
    ])
      expect(seen(await call(url))).to.deep.equal([200, hourly, 'hit', tag]);
    const head = await call(sign(border()), { method: 'HEAD' });
    expect(seen(head)).to.deep.equal([200, hourly, 'hit', tag]);
    expect(head.headers.get('content-length')).to.equal(String(first.bytes.length));
    // The same picture asked for with a key is that customer's alone.
    expect(seen(await api.call(border()))).to.deep.equal([200, 'private, no-store', 'hit', tag]);
    expect(downloads).to.equal(1);
  });

  it('are not sent to a client that has them, and still only to a right signature', async () => {
    const url = sign(border());
    const tag = (await call(url)).headers.get('etag') as string;
    for (const method of ['GET', 'HEAD']) {
      const answer = await call(url, { method, headers: { 'if-none-match': `W/${tag}` } });
      expect([...seen(answer), answer.bytes.length]).to.deep.equal([304, hourly, 'hit', tag, 0]);
    }
    for (const [wrong, code] of [
      [`${url.slice(0, -1)}~`, 'signature_invalid'],
      [sign(border(), 1_000_000_000), 'signature_expired'],
    ] as const) {
      const answer = await call(wrong, { headers: { 'if-none-match': tag } });
      expect([...seen(answer), answer.json.error.code]).to.deep.equal([403, 'no-store', null, null, code]);
    }
  });

  it('are kept no longer than the url holds, be they sent or known, nor than their key holds', async () => {
    const exp = Math.floor(nowSeconds()) + hour / 2;
    const url = sign(border(), exp);
    const tag = (await call(url)).headers.get('etag') as string;
    for (const init of [{}, { headers: { 'if-none-match': tag } }]) {
      const before = nowSeconds();
      expect(publicFor(await call(url, init))).to.be.within(Math.floor(exp - nowSeconds()), exp - before);
    }

    const end = nowSeconds() + hour / 4;
    const expires_at = new Date(end * 1000).toISOString();
    const { id: kid, signing_secret: secret } = await api.manage('/api/tenants/demo/keys', { expires_at });
    const before = nowSeconds();
    const answer = await call(signUrl({ url: border(), kid, secret, exp }));
    expect(publicFor(answer)).to.be.within(Math.floor(end - nowSeconds()), end - before);
  });

  it('are kept nowhere where they are no pictures', async () => {
    for (const [status, path] of [
      [200, border('&dryrun=true')],
      [400, border('&color=notacolour')],
      [502, border().replace(`${width}.png`, 'none.png')],
      [200, '/text/remove-stopwords?text=the+cat'],
      [200, '/text/diff-two-strings?a=1&b=2&dryrun=1'],
    ] as const)
      expect(seen(await call(sign(path))), path).to.deep.equal([status, 'no-store', null, null]);
  });

  it('are an outside plugin’s too, which says itself what may be kept of them', async () => {
    const says = (more = '') => `/says?url=${encodeURIComponent(`${origin}/a.png`)}${more}`;
    expect(seen(await call(sign(says()))).slice(0, 3)).to.deep.equal([200, hourly, 'miss']);
    expect(seen(await call(sign(says()))).slice(0, 3)).to.deep.equal([200, hourly, 'hit']);
    const own = sign(says('&control=max-age%3D5'));
    expect((await call(own)).headers.get('cache-control')).to.equal('max-age=5');
    expect((await call(`${own}&control=no-store`)).status).to.equal(403);
  });

  it('are kept as long as HELPER_CACHE_TTL says', async () => {
    for (const [ttl, seconds] of [
      ['10m', 600],
      ['0', 0],
    ] as const) {
      const settings = {
        HELPER_CACHE_TTL: ttl,
        HELPER_SOURCE_ORIGINS: origin,
        HELPER_SIGNING_SECRET: master,
      };
      const other = await startTestGateway(settings);
      const kid = other.gateway.firstKey?.id ?? '';
      const url = signUrl({ url: border(), kid, secret: signing.current(kid, 1), exp: soon() });
      const answer = await other.call(url, { key: null });
      await other.close();
      expect([answer.status, publicFor(answer)]).to.deep.equal([200, seconds]);
    }
  });
});
