import { expect } from 'chai';
import { openTestSite, type TestSite } from '../test-site.js';
import { createApiClient, problems } from './api-client.js';

describe('site/api: what it is sent', () => {
  let site: TestSite;
  before(async () => {
    site = await openTestSite();
  });
  after(() => site.close());
  const call = createApiClient(() => site);

  it('names every problem of a body at once', async () => {
    await call('POST', '/api/tenants', { name: 'strict' });
    const bad = { label: '', scopes: ['text/difff'], expires_at: '2020-01-01', lable: 'x', grace: 1 };
    const answer = await call('POST', '/api/tenants/strict/keys', bad);
    expect(answer.status).to.equal(400);
    expect(answer.json.error?.code).to.equal('invalid_input');
    expect(Object.keys(problems(answer))).to.have.members([
      'label',
      'scopes',
      'expires_at',
      'lable',
      'grace',
    ]);
    expect(problems(answer).lable).to.include('did you mean label?');
    expect(problems(answer).expires_at).to.include('has passed');
    const nulls = await call('POST', '/api/tenants/strict/keys', {
      label: null,
      scopes: null,
      expires_at: null,
    });
    expect(Object.keys(problems(nulls))).to.have.members(['label', 'scopes', 'expires_at']);
    for (const [body, field] of [
      [{}, 'name'],
      [{ name: 5 }, 'name'],
      [{ name: 'Acme' }, 'name'],
      [[], 'body'],
      ['{"name":"a","name":"b"}', 'name'],
      ['{', 'body'],
      ['null', 'body'],
    ] as const) {
      expect(
        Object.keys(problems(await call('POST', '/api/tenants', body))),
        JSON.stringify(body),
      ).to.deep.equal([field]);
    }
    for (const grace_seconds of [-1, 1.5, '60', null, 1e12]) {
      const { json } = await call('POST', '/api/keys/key_x/rotate', { grace_seconds });
      expect(json.error?.details?.[0]?.field).to.equal('grace_seconds');
    }
  });

  it('judges parameters of the query, on every operation', async () => {
    const answer = await call('GET', '/api/audit?limit=0&before=x&tenants=acme&key=hg_a&limit=2');
    expect(answer.status).to.equal(400);
    const wrong = await call('GET', '/api/audit?limit=0&before=x&tenants=acme&key=hg_a');
    expect(Object.keys(problems(wrong))).to.have.members(['limit', 'before', 'tenants', 'key']);
    expect((await call('DELETE', '/api/keys/key_x?force=1')).status).to.equal(400);
    expect((await call('GET', '/api/tenants/acme/usage?from=2026-13-01')).status).to.equal(400);
  });

  it('names the problems of the query and of the body in one answer', async () => {
    const answer = await call('POST', '/api/tenants?force=1', { name: 'Acme' });
    expect(Object.keys(problems(answer))).to.have.members(['force', 'name']);
    const unread = await call('POST', '/api/tenants?force=1', '{');
    expect(Object.keys(problems(unread))).to.have.members(['force', 'body']);
  });

  it('says what is not there, and what there is already', async () => {
    await call('POST', '/api/tenants', { name: 'taken' });
    const twice = await call('POST', '/api/tenants', { name: 'taken' });
    expect([twice.status, twice.json.error?.code]).to.deep.equal([409, 'exists']);
    for (const [method, path] of [
      ['GET', '/api/tenants/nobody'],
      ['GET', '/api/tenants/nobody/keys'],
      ['POST', '/api/tenants/nobody/keys'],
      ['GET', '/api/tenants/nobody/usage'],
      ['PATCH', '/api/tenants/nobody'],
      ['GET', '/api/keys/key_nobody'],
      ['DELETE', '/api/keys/key_nobody'],
      ['POST', '/api/keys/key_nobody/rotate'],
      ['GET', '/api/keys/%00'],
      ['GET', '/api/nothing'],
    ] as const) {
      const answer = await call(method, path);
      expect([answer.status, answer.json.error?.code], path).to.deep.equal([404, 'not_found']);
    }
  });

  it('goes by the rules of HTTP', async () => {
    const wrong = await call('PUT', '/api/tenants');
    expect([wrong.status, wrong.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, POST, OPTIONS']);
    const options = await fetch(`${site.url}/api/tenants`, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow')]).to.deep.equal([204, 'GET, HEAD, POST, OPTIONS']);
    const head = await call('HEAD', '/api/tenants');
    expect([head.status, head.json]).to.deep.equal([200, {}]);
    const form = await call('POST', '/api/tenants', 'name=a', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(form.status).to.equal(415);
    const packed = await call(
      'POST',
      '/api/tenants',
      { name: 'a' },
      { headers: { 'content-encoding': 'gzip' } },
    );
    expect(packed.status).to.equal(415);
    const large = await call('POST', '/api/tenants', { name: 'a'.repeat(70_000) });
    expect([large.status, large.json.error?.code]).to.deep.equal([413, 'too_large']);
  });
});
