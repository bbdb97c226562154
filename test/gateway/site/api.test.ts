import { expect } from 'chai';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { createSqliteDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { createApiClient, type Envelope, problems } from './api-client.js';
import { operatorToken, sampleUsage, services, useTestSite, withTestSite } from './test-site.js';

describe('site/api', () => {
  const site = useTestSite();
  const call = createApiClient(() => site);

  it('goes the way of a key: tenant, key, rotation, end of grace, revocation', async () => {
    const tenant = await call('POST', '/api/tenants', { name: 'acme' });
    expect(tenant.status).to.equal(200);
    expect(tenant.json).to.have.property('ok', true);
    expect(tenant.json.data).to.include({ name: 'acme', weight: 1 });
    expect(tenant.json.meta).to.deep.include({ service: null, dryrun: false });
    expect(tenant.headers.get('x-request-id')).to.equal(tenant.json.meta.request_id);

    const body = { label: 'billing', scopes: ['text/*'], expires_at: '2099-01-31' };
    const issued = await call('POST', '/api/tenants/acme/keys', body);
    expect(issued.json.data.id).to.match(/^key_/);
    const { id, key: first } = issued.json.data;
    expect(await site.verifier.verify(first)).to.have.property('state', 'active');

    const rotated = await call('POST', `/api/keys/${id}/rotate`, { grace_seconds: 60 });
    expect(rotated.json.data.id).to.equal(id);
    const second = rotated.json.data.key;
    const states = async () =>
      Promise.all([first, second].map(async (key: string) => (await site.verifier.verify(key)).state));
    expect(await states()).to.deep.equal(['active', 'active']);
    await call('POST', `/api/keys/${id}/end-grace`);
    expect(await states()).to.deep.equal(['expired', 'active']);

    const listed = await call('GET', '/api/tenants/acme/keys');
    expect(listed.json.data.keys).to.have.length(1);
    expect(JSON.stringify(listed.json)).not.to.include(first).and.not.to.include(second);
    expect((await call('GET', `/api/keys/${id}`)).json.data).to.deep.equal(listed.json.data.keys[0]);

    expect((await call('DELETE', `/api/keys/${id}`)).json.data).to.include({ id, state: 'revoked' });
    expect(await states()).to.deep.equal(['revoked', 'revoked']);
    expect((await call('POST', `/api/keys/${id}/rotate`)).status).to.equal(400);

    const audit = await call('GET', '/api/audit?tenant=acme');
    const actions = audit.json.data.entries.map(({ action }: { action: string }) => action);
    expect(actions).to.deep.equal([
      'key.revoke',
      'key.end_grace',
      'key.rotate',
      'key.issue',
      'tenant.create',
    ]);
  });

  it('keeps the old secret for a day where no grace is said, without a body too', async () => {
    await call('POST', '/api/tenants', { name: 'daily' });
    const { id } = (await call('POST', '/api/tenants/daily/keys')).json.data;
    const { previous_expires_at } = (await call('POST', `/api/keys/${id}/rotate`)).json.data;
    expect(Date.parse(previous_expires_at) - Date.now()).to.be.within(86_000_000, 86_400_000);
  });

  it('changes limits, and goes back to the default with null', async () => {
    await call('POST', '/api/tenants', { name: 'limited' });
    const changed = await call('PATCH', '/api/tenants/limited', { rate: 12, weight: 3 });
    expect(changed.json.data).to.deep.include({
      weight: 3,
      limits: { rate: 12, burst: null, monthly_quota: null, in_flight: null },
    });
    const back = await call('PATCH', '/api/tenants/limited', { rate: null, monthly_quota: 1000 });
    expect(back.json.data.limits).to.include({ rate: null, monthly_quota: 1000 });
    expect(back.json.data.weight).to.equal(3);
    const wrong = await call('PATCH', '/api/tenants/limited', {
      rate: -1,
      burst: 1.5,
      weight: 0,
      in_flight: '3',
    });
    expect(Object.keys(problems(wrong))).to.have.members(['rate', 'burst', 'weight', 'in_flight']);
  });

  it('hands out lists in pages', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await call('POST', '/api/tenants', { name });
    const first = await call('GET', '/api/tenants?limit=2&after=page-');
    expect(first.status).to.equal(200);
    const names = ({ json }: { json: Envelope }) =>
      json.data.tenants.map(({ name }: { name: string }) => name);
    expect(names(first)).to.deep.equal(['page-a', 'page-b']);
    const second = await call('GET', `/api/tenants?limit=2&after=${first.json.data.next}`);
    expect(names(second)[0]).to.equal('page-c');
  });

  it('reports usage', async () => {
    await call('POST', '/api/tenants', { name: 'busy' });
    const { id } = await site.admin.tenant('busy');
    site.usage.set(id, sampleUsage('key_1', 2));
    const { json } = await call('GET', '/api/tenants/busy/usage');
    expect(json.data.next).to.equal(null);
    expect(json.data.usage).to.have.length(8);
    expect(json.data.usage[0]).to.have.all.keys(
      'day key service calls errors bytes_in bytes_out cpu_ms'.split(' '),
    );
  });

  it('serves metrics as text', async () => {
    const answer = await fetch(`${site.url}/metrics`, {
      headers: { authorization: `Bearer ${operatorToken}` },
    });
    expect(answer.headers.get('content-type')).to.include('text/plain; version=0.0.4');
    expect(await answer.text()).to.equal('gateway_calls_total 0\n');
  });

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

  it('shows a signing secret with a new key and again, and replaces it', async () => {
    await site.admin.createTenant('signing', 'test');
    const issued = (await call('POST', '/api/tenants/signing/keys', {})).json.data;
    expect(issued.signing_secret).to.equal(signing.current(issued.id, 1));
    const path = `/api/keys/${issued.id}`;
    const { id, signing_secret } = issued;
    expect((await call('POST', `${path}/signing-secret`)).json.data).to.deep.equal({ id, signing_secret });
    const rotated = (await call('POST', `${path}/rotate-signing`, {})).json.data;
    expect(rotated).to.deep.equal({ id, signing_secret: signing.current(id, 2) });
    expect((await call('POST', `${path}/signing-secret`)).json.data).to.deep.equal(rotated);
    // The key itself goes on.
    expect(await site.verifier.verify(issued.key)).to.have.property('state', 'active');
    const { entries } = (await call('GET', `/api/audit?key=${id}`)).json.data;
    expect(entries.map(({ action }: { action: string }) => action)).to.deep.equal([
      'key.signing_secret',
      'key.rotate_signing',
      'key.signing_secret',
      'key.issue',
    ]);
    expect(JSON.stringify(entries)).not.to.include('hgs_');
    const key = JSON.stringify((await call('GET', path)).json) + site.logs.join('');
    expect(key).not.to.include('hgs_');
  });

  it('has no signing secret where there is no such key, or it has ended', async () => {
    expect((await call('POST', '/api/keys/key_none/signing-secret')).status).to.equal(404);
    const { id } = (await call('POST', '/api/tenants/signing/keys')).json.data;
    await call('DELETE', `/api/keys/${id}`);
    for (const what of ['signing-secret', 'rotate-signing']) {
      const refused = await call('POST', `/api/keys/${id}/${what}`);
      expect(refused.status).to.equal(400);
      expect(problems(refused).id).to.include('revoked');
      expect(problems(await call('POST', `/api/keys/${id}/${what}`, { version: 1 }))).to.have.keys('version');
    }
  });

  it('shows the webhook secret with the tenant alone, and replaces it', async () => {
    const { id } = await site.admin.createTenant('hooked', 'test');
    const path = '/api/tenants/hooked';
    expect((await call('GET', path)).json.data.webhook_secret).to.equal(signing.webhooks.current(id, 1));
    const rotated = (await call('POST', `${path}/rotate-webhook-secret`)).json.data;
    expect(rotated.webhook_secret).to.equal(signing.webhooks.current(id, 2));
    expect(Date.parse(rotated.previous_until)).to.be.greaterThan(Date.now());
    expect((await call('GET', path)).json.data.webhook_secret).to.equal(rotated.webhook_secret);
    const { entries } = (await call('GET', '/api/audit?tenant=hooked')).json.data;
    expect(entries.map(({ action }: { action: string }) => action)).to.deep.equal([
      'tenant.rotate_webhook_secret',
      'tenant.create',
    ]);
    const rest = [
      (await call('GET', '/api/tenants')).json,
      (await call('PATCH', path, { rate: 3 })).json,
      entries,
      site.logs,
    ];
    expect(JSON.stringify(rest)).not.to.include('whsec_');
  });

  it('has no webhook secret where there is no such tenant, and accepts no fields', async () => {
    expect((await call('POST', '/api/tenants/globex/rotate-webhook-secret')).status).to.equal(404);
    const refused = await call('POST', '/api/tenants/hooked/rotate-webhook-secret', { version: 1 });
    expect(problems(refused)).to.have.keys('version');
  });

  it('needs a master secret for all that it signs, and names the variable', async () => {
    const database = await createSqliteDatabase();
    const admin = createKeyAdmin({
      store: await database.open(),
      signing: createSigningSecrets(undefined),
      services: () => services.map(({ id }) => id),
    });
    await withTestSite(
      { admin },
      async (without) => {
        const ask = createApiClient(() => without);
        await ask('POST', '/api/tenants', { name: 'acme' });
        const shown = await ask('GET', '/api/tenants/acme');
        expect(shown.json.data).to.include({ name: 'acme', webhook_secret: null });
        expect(shown.json.data.webhook_hint).to.include('HELPER_SIGNING_SECRET');
        const issued = (await ask('POST', '/api/tenants/acme/keys')).json.data;
        expect(issued.signing_secret).to.equal(null);
        expect(await without.verifier.verify(issued.key)).to.have.property('state', 'active');
        for (const path of [
          `keys/${issued.id}/signing-secret`,
          `keys/${issued.id}/rotate-signing`,
          'tenants/acme/rotate-webhook-secret',
        ]) {
          const { status, json } = await ask('POST', `/api/${path}`);
          expect([status, json.error?.code]).to.deep.equal([503, 'storage_unavailable']);
          expect(json.error?.message).to.include('HELPER_SIGNING_SECRET');
        }
        const { entries } = (await ask('GET', '/api/audit')).json.data;
        expect(JSON.stringify(entries)).not.to.match(/signing|webhook/);
      },
      database,
    );
  });
});
