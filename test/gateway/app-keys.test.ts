import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { startTestGateway, type TestGateway } from './harness.js';

describe('keys of the API', () => {
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/good') });
  });

  after(() => api.close());

  it('takes Authorization: Bearer as well', async () => {
    const headers = { authorization: `Bearer ${api.key}` };
    expect((await api.call('/hello?name=Ada', { key: null, headers })).status).to.equal(200);
  });

  it('takes an empty ak for a missing one', async () => {
    const { status, json, headers } = await api.call('/hello?name=Ada&ak=', { key: null });
    expect([status, json.error.code]).to.deep.equal([401, 'key_missing']);
    expect(headers.get('www-authenticate')).to.match(/^Bearer/);
  });

  describe('that are sent where they are not read', () => {
    const secret = 'hg_secretSECRETsecretSECRET';
    for (const [what, path, headers, seen] of [
      ['nowhere', '/hello', {}, ''],
      ['x-api-key', '/hello', { 'x-api-key': secret }, 'the header x-api-key is not read'],
      ['api_key', `/hello?api_key=${secret}`, {}, 'the query parameter api_key is not read'],
      ['key', `/hello?key=${secret}`, {}, 'the query parameter key is not read'],
      ['apikey', `/hello?apikey=${secret}`, {}, 'the query parameter apikey is not read'],
      ['token', `/hello?token=${secret}`, {}, 'the query parameter token is not read'],
      ['Api-Key', `/hello?Api-Key=${secret}`, {}, 'the query parameter api-key is not read'],
      ['AK', `/hello?AK=${secret}`, {}, 'a query parameter ak in capital letters is not read'],
      ['an empty ak', '/hello?ak=', {}, 'the query parameter ak is empty'],
      ['a bare Authorization', '/hello', { authorization: secret }, 'an Authorization header without Bearer'],
      ['Basic', '/hello', { authorization: `Basic ${secret}` }, 'an Authorization: Basic header is not read'],
      ['Token', '/hello', { authorization: `Token ${secret}` }, 'an Authorization header of another scheme'],
      ['Bearer and two words', '/hello', { authorization: `Bearer ${secret} b` }, 'followed by one key'],
    ] as [string, string, Record<string, string>, string][]) {
      it(`are told what is read: ${what}`, async () => {
        const { status, json } = await api.call(path, { key: null, headers });
        expect([status, json.error.code]).to.deep.equal([401, 'key_missing']);
        expect(json.error.message).to.contain(seen);
        expect(json.error.message)
          .to.contain('the query parameter ak')
          .and.to.contain('Authorization: Bearer');
        expect(JSON.stringify(json)).not.to.contain(secret);
      });
    }

    it('are all named at once', async () => {
      const { json } = await api.call(`/hello?token=${secret}`, {
        key: null,
        headers: { 'x-api-key': secret },
      });
      expect(json.error.message).to.match(
        /^No key was found: the header x-api-key and the query parameter token are not read\. Send your API key/,
      );
    });
  });

  it('refuses ak twice', async () => {
    const { status, json } = await api.call(`/hello?ak=${api.key}&name=Ada`);
    expect([status, json.error.details[0].field]).to.deep.equal([400, 'ak']);
  });

  it('refuses an unknown and a mistyped key alike', async () => {
    const typo = `${api.key.slice(0, -1)}${api.key.endsWith('a') ? 'b' : 'a'}`;
    for (const key of [typo, 'nonsense', `${api.key}x`]) {
      const { status, json } = await api.call('/hello?name=Ada', { key: encodeURIComponent(key) });
      expect([status, json.error.code]).to.deep.equal([401, 'key_invalid']);
      expect(JSON.stringify(json)).not.to.include(key);
    }
  });

  it('asks for the key before it looks at the input', async () => {
    expect((await api.call('/hello?times=no', { key: null })).status).to.equal(401);
  });

  it('never logs the key', async () => {
    await api.call('/hello?name=Ada');
    await api.call(`/hello?name=Ada&ak=${api.key}`);
    expect(JSON.stringify(api.log)).not.to.include(api.key.slice(3, -6));
  });
});
