import { expect } from 'chai';
import type { Database } from '../../gateway/database/database.js';
import { createKeyAdmin, type KeyAdmin } from '../../gateway/keys/admin.js';
import { createKeyStore } from '../../gateway/keys/store.js';
import { signUrl } from '../../gateway/signing/signed-url.js';
import { connect } from './databases.js';
import { type Answer, type CallInit, shareGateway, type TestGateway } from './harness.js';
import { signing } from './signing/signing.js';
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
    admin = createKeyAdmin({ store, signing, services: () => [...api.gateway.registry.keys()] });
    await admin.createTenant('signer', 'ann');
    await admin.setLimits('signer', { rate: 1000 }, 'ann');
    kid = (await admin.issueKey('signer', {}, 'ann')).id;
  });
  after(() => database.close());

  const sign = (url: string, { id = kid, version = 1, exp = soon() } = {}) =>
    signUrl({ url, kid: id, secret: signing.current(id, version), exp });
  const open = (url: string, init?: CallInit) => api.call(url, { key: null, ...init });
  const told = ({ status, json }: Answer) => [status, json?.error?.code ?? 'ok'];

  it('open the helper with the input that was signed, as the key', async () => {
    const { status, json, headers } = await open(sign('/hello?name=Ada%20L'));
    expect([status, json.data.greeting]).to.deep.equal([200, 'Hello Ada L!']);
    expect(headers.get('ratelimit')).to.match(/"rate"/);
    expect(api.log.at(-1)).to.include({ msg: 'call', key: kid, tenant: 'signer', path: '/hello' });
    expect((await open(sign('/hello?name=Ada'), { method: 'HEAD' })).status).to.equal(200);
    const border = '/media/add-border?dryrun=1&url=https%3A%2F%2Fexample.com%2Fa%20b.jpg';
    for (const path of [border, border.replace('/media/', '/img/')])
      expect(told(await open(sign(path)))).to.deep.equal([200, 'ok']);
  });

  it('are judged by the path as it is sent', async () => {
    const signed = sign('/media/add-border?dryrun=1');
    expect(told(await open(signed.replace('/media/', '/img/')))).to.deep.equal([403, 'signature_invalid']);
    // There is one way to write a path that is served.
    expect(told(await open(signed.replace('-', '%2D')))).to.deep.equal([404, 'not_found']);
  });

  it('hand on what is wrong with the input, and nothing of the signature', async () => {
    const { status, json } = await open(sign('/hello?nme=Ada'));
    expect([status, json.error.code]).to.deep.equal([400, 'invalid_input']);
    expect(JSON.stringify(json.error)).not.to.match(/\b(?:kid|exp|sig)\b/);
  });

  it('say the same, byte for byte, whatever is wrong with the signature', async () => {
    const right = sign('/hello?name=Ada');
    const change = (name: string, value: string) =>
      right.replace(new RegExp(`${name}=[^&]*`), `${name}=${value}`);
    const wrong = [
      change('kid', 'key_nobody'),
      change('kid', 'nonsense'),
      change('kid', ''),
      change('exp', 'soon'),
      change('exp', '-1'),
      change('exp', '1'),
      change('exp', `0${soon()}`),
      change('exp', `${soon()}.5`),
      change('sig', 'short'),
      change('sig', ''),
      change('sig', 'A'.repeat(43)),
      change('sig', '%zz'),
      change('name', 'Eve'),
      change('name', '%ff'),
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
      // What has expired says so only to who could sign.
      change('exp', '1000000000'),
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
    await expectRefusals(api.url, right, { draws: 200, seed: 7 });
  });

  it('end when they say, and tell that only of a right signature', async () => {
    const past = Math.floor(Date.now() / 1000) - 1;
    expect(told(await open(sign('/hello?name=Ada', { exp: past })))).to.deep.equal([
      403,
      'signature_expired',
    ]);
    const forged = sign('/hello?name=Ada', { exp: past, version: 3 });
    expect(told(await open(forged))).to.deep.equal([403, 'signature_invalid']);
  });

  it('may do what the key may', async () => {
    const { id } = await admin.issueKey('demo', { scopes: ['text/*'] }, 'ann');
    expect(told(await open(sign('/hello?name=Ada', { id })))).to.deep.equal([403, 'scope_denied']);
    const allowed = sign('/text/remove-stopwords?text=a', { id });
    expect(told(await open(allowed))).to.deep.equal([200, 'ok']);
  });

  it('of a revoked key say so to who could sign, and to nobody else', async () => {
    const { id } = await admin.issueKey('demo', {}, 'ann');
    await admin.revokeKey(id, 'ann');
    const url = sign('/hello?name=Ada', { id });
    const { status, json, headers } = await open(url);
    expect([status, json.error.code]).to.deep.equal([401, 'key_revoked']);
    expect(headers.get('www-authenticate')).to.match(/^Bearer/);
    const forged = url.replace(/sig=.*/, `sig=${'A'.repeat(43)}`);
    expect(told(await open(forged))).to.deep.equal([403, 'signature_invalid']);
  });

  it('are for GET and HEAD alone, whatever else a POST brings', async () => {
    const url = sign('/hello?name=Ada');
    for (const init of [{}, { headers: { authorization: `Bearer ${api.key}` } }, { key: api.key }]) {
      const answer = await open(url, { ...init, body: {} });
      expect(told(answer)).to.deep.equal([405, 'method_not_allowed']);
      expect(answer.headers.get('allow')).to.equal('GET, HEAD');
    }
  });

  it('take no key beside the signature', async () => {
    const url = sign('/hello?name=Ada');
    const beside = [
      ['ak', await open(url, { key: api.key })],
      ['ak', await open(`${url}&ak=`)],
      ['sig', await open(url, { headers: { authorization: `Bearer ${api.key}` } })],
    ] as const;
    for (const [field, { status, json }] of beside)
      expect([status, json.error.details[0].field]).to.deep.equal([400, field]);
    const basic = await open(url, { headers: { authorization: 'Basic YTpi' } });
    expect(told(basic)).to.deep.equal([200, 'ok']);
  });

  it('leave no signature in the log', async () => {
    const url = sign('/hello?name=Ada');
    await open(url);
    await open(`${url}A`);
    expect(JSON.stringify(api.log)).not.to.match(/sig=|[?&]kid=/);
  });

  it('are nothing to agents, whose address takes a key as ever', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const headers = { accept: 'application/json, text/event-stream', authorization: `Bearer ${api.key}` };
    const plain = await open('/mcp', { body, headers });
    expect((await open('/mcp?sig=x&kid=y', { body, headers })).status).to.equal(plain.status);
    expect(told(await open(sign('/mcp'), { body }))).to.deep.equal([401, 'key_missing']);
  });

  it('use nothing of the tenant’s rate where they are refused', async () => {
    await admin.createTenant('slow', 'ann');
    await admin.setLimits('slow', { rate: 2 }, 'ann');
    const { id } = await admin.issueKey('slow', {}, 'ann');
    const url = '/text/remove-stopwords?text=a';
    for (let n = 0; n < 10; n += 1) {
      expect((await open(`${sign(url, { id })}A`)).status).to.equal(403);
      expect((await open(sign(url, { id, exp: 1_000_000_000 }))).status).to.equal(403);
    }
    expect((await open(sign(url, { id }))).headers.get('ratelimit')).to.include('r=1');
  });
});
