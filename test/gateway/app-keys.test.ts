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
