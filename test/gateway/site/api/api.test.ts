import { request } from 'node:http';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { createKeyAdmin } from '../../../../gateway/keys/admin.js';
import { createKeyInputs } from '../../../../gateway/keys/inputs.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { apiRoutes, openApiDocument } from '../../../../gateway/site/api/document.js';
import type { ApiRoute } from '../../../../gateway/site/api/route.js';
import type { JsonSchema } from '../../../../schemas/json-schema.js';
import { codesIn, readText, rowsOf, sectionOf } from '../../../readme.js';
import { createSqliteDatabase } from '../../databases.js';
import { compileRecipe } from '../../keys/recipe-compiler.js';
import { signing } from '../../signing/signing.js';
import { type BrowserLike, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import {
  operatorToken,
  sampleUsage,
  services,
  type TestSite,
  useTestSite,
  withTestSite,
} from '../test-site.js';

interface Answer {
  status: number;
  headers: Headers;
  /** Of the error; undefined where there is none. */
  code: string | undefined;
  message: string | undefined;
  /** The problems of a 400, by field. */
  problems: Record<string, string>;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own
  data: any;
  json: { ok?: boolean; meta?: { request_id: string } };
}

/** Calls the JSON API with the operator token; `body` goes out as JSON, or as it is where it is text. */
function clientOf(site: () => TestSite) {
  return async (at: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const [method = '', path] = at.split(' ');
    const text = body === undefined || typeof body === 'string' ? (body ?? null) : JSON.stringify(body);
    const type: Record<string, string> = text === null ? {} : { 'content-type': 'application/json' };
    const authorization = `Bearer ${operatorToken}`;
    const init = { method, body: text, headers: { authorization, ...type, ...headers } };
    const response = await fetch(`${site().url}${path}`, init);
    const answer = await response.text();
    const json = answer ? JSON.parse(answer) : {};
    const { code, message, details = [] } = json.error ?? {};
    const problems = Object.fromEntries(
      details.map(({ field, problem }: { field: string; problem: string }) => [field, problem]),
    );
    const { status } = response;
    return { status, headers: response.headers, code, message, problems, data: json.data, json };
  };
}
const actionsOf = (audit: Answer) => audit.data.entries.map(({ action }: { action: string }) => action);

describe('site/api', () => {
  const site = useTestSite();
  const call = clientOf(() => site);

  it('goes the way of a key: tenant, key, rotation, end of grace, revocation', async () => {
    const tenant = await call('POST /api/tenants', { name: 'acme' });
    expect(tenant.status).to.equal(200);
    expect(tenant.json).to.have.property('ok', true);
    expect(tenant.data).to.include({ name: 'acme', weight: 1 });
    expect(tenant.json.meta).to.deep.include({ service: null, dryrun: false });
    expect(tenant.headers.get('x-request-id')).to.equal(tenant.json.meta?.request_id);

    const body = { label: 'billing', scopes: ['text/*'], expires_at: '2099-01-31' };
    const { id, key: first } = (await call('POST /api/tenants/acme/keys', body)).data;
    expect(id).to.match(/^key_/);
    const rotated = await call(`POST /api/keys/${id}/rotate`, { grace_seconds: 60 });
    expect(rotated.data.id).to.equal(id);
    const both: string[] = [first, rotated.data.key];
    const states = async () => Promise.all(both.map(async (key) => (await site.verifier.verify(key)).state));
    expect(await states()).to.deep.equal(['active', 'active']);
    await call(`POST /api/keys/${id}/end-grace`);
    expect(await states()).to.deep.equal(['expired', 'active']);

    const { keys } = (await call('GET /api/tenants/acme/keys')).data;
    for (const key of both) expect(JSON.stringify(keys)).not.to.include(key);
    expect([(await call(`GET /api/keys/${id}`)).data]).to.deep.equal(keys);
    expect((await call(`DELETE /api/keys/${id}`)).data).to.include({ id, state: 'revoked' });
    expect(await states()).to.deep.equal(['revoked', 'revoked']);
    expect((await call(`POST /api/keys/${id}/rotate`)).status).to.equal(400);
    expect(actionsOf(await call('GET /api/audit?tenant=acme'))).to.deep.equal([
      ...['key.revoke', 'key.end_grace', 'key.rotate', 'key.issue', 'tenant.create'],
    ]);
  });

  it('keeps the old secret for a day where no grace is said, without a body too', async () => {
    await call('POST /api/tenants', { name: 'daily' });
    const { id } = (await call('POST /api/tenants/daily/keys')).data;
    const { previous_expires_at } = (await call(`POST /api/keys/${id}/rotate`)).data;
    expect(Date.parse(previous_expires_at) - Date.now()).to.be.within(86_000_000, 86_400_000);
  });

  it('changes limits, and goes back to the default with null', async () => {
    await call('POST /api/tenants', { name: 'limited' });
    const none = { rate: null, burst: null, monthly_quota: null, in_flight: null, monthly_cpu_ms: null };
    const changed = await call('PATCH /api/tenants/limited', { rate: 12, weight: 3 });
    expect(changed.data).to.deep.include({ weight: 3, limits: { ...none, rate: 12 } });
    const back = await call('PATCH /api/tenants/limited', { rate: null, monthly_quota: 1000 });
    expect(back.data).to.deep.include({ weight: 3, limits: { ...none, monthly_quota: 1000 } });
    const wrong = { rate: -1, burst: 1.5, weight: 0, in_flight: '3' };
    expect((await call('PATCH /api/tenants/limited', wrong)).problems).to.have.keys(Object.keys(wrong));
  });

  it('answers with lists in pages, usage, and metrics as text', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await call('POST /api/tenants', { name });
    const names = ({ data }: Answer) => data.tenants.map(({ name }: { name: string }) => name);
    const first = await call('GET /api/tenants?limit=2&after=page-');
    expect(names(first)).to.deep.equal(['page-a', 'page-b']);
    expect(names(await call(`GET /api/tenants?limit=2&after=${first.data.next}`))[0]).to.equal('page-c');

    site.usage.set((await site.admin.tenant('page-a')).id, sampleUsage('key_1', 2));
    const { usage, next } = (await call('GET /api/tenants/page-a/usage')).data;
    expect(next).to.equal(null);
    expect(usage).to.deep.equal(sampleUsage('key_1', 2));

    const headers = { authorization: `Bearer ${operatorToken}` };
    const metrics = await fetch(`${site.url}/metrics`, { headers });
    expect(metrics.headers.get('content-type')).to.include('text/plain; version=0.0.4');
    expect(await metrics.text()).to.equal('gateway_calls_total 0\n');
  });

  it('names every problem of query and body at once', async () => {
    await call('POST /api/tenants', { name: 'strict' });
    const keys = 'POST /api/tenants/strict/keys';
    const bad = { label: '', scopes: ['text/difff'], expires_at: '2020-01-01', lable: 'x', grace: 1 };
    const { status, code, problems } = await call(keys, bad);
    expect([status, code]).to.deep.equal([400, 'invalid_input']);
    expect(problems.lable).to.include('did you mean label?');
    expect(problems.expires_at).to.include('has passed');
    for (const [at, body, fields] of [
      [keys, bad, Object.keys(bad)],
      [keys, { label: null, scopes: null, expires_at: null }, ['label', 'scopes', 'expires_at']],
      ['POST /api/tenants', {}, ['name']],
      ['POST /api/tenants', { name: 5 }, ['name']],
      ['POST /api/tenants', [], ['body']],
      ['POST /api/tenants', '{"name":"a","name":"b"}', ['name']],
      ['POST /api/tenants', '{', ['body']],
      ['POST /api/tenants', 'null', ['body']],
      ['POST /api/tenants?force=1', { name: 'Acme' }, ['force', 'name']],
      ['POST /api/tenants?force=1', '{', ['force', 'body']],
      ['POST /api/keys/key_x/rotate', { grace_seconds: -1 }, ['grace_seconds']],
      ['POST /api/keys/key_x/rotate', { grace_seconds: 1.5 }, ['grace_seconds']],
      ['POST /api/keys/key_x/rotate', { grace_seconds: '60' }, ['grace_seconds']],
      ['POST /api/keys/key_x/rotate', { grace_seconds: null }, ['grace_seconds']],
      ['POST /api/keys/key_x/rotate', { grace_seconds: 1e12 }, ['grace_seconds']],
      ['POST /api/keys/key_x/signing-secret', { version: 1 }, ['version']],
      ['POST /api/keys/key_x/rotate-signing', { version: 1 }, ['version']],
      ['POST /api/tenants/strict/rotate-webhook-secret', { version: 1 }, ['version']],
      [
        'GET /api/audit?limit=0&before=x&tenants=acme&key=hg_a',
        undefined,
        ['limit', 'before', 'tenants', 'key'],
      ],
      ['GET /api/audit?limit=1&limit=2', undefined, ['limit']],
      ['DELETE /api/keys/key_x?force=1', undefined, ['force']],
      ['GET /api/tenants/strict/usage?from=2026-13-01', undefined, ['from']],
    ] as const)
      expect((await call(at, body)).problems, `${at} ${JSON.stringify(body)}`).to.have.keys(fields);
  });

  it('goes by the rules of HTTP, and says what is not there and what there is already', async () => {
    await call('POST /api/tenants', { name: 'taken' });
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const [at, status, code, body, headers] of [
      ['POST /api/tenants', 409, 'exists', { name: 'taken' }],
      ...[
        'GET /api/tenants/nobody',
        'GET /api/tenants/nobody/keys',
        'POST /api/tenants/nobody/keys',
        'GET /api/tenants/nobody/usage',
        'PATCH /api/tenants/nobody',
        'POST /api/tenants/nobody/rotate-webhook-secret',
        'GET /api/keys/key_nobody',
        'DELETE /api/keys/key_nobody',
        'POST /api/keys/key_nobody/rotate',
        'POST /api/keys/key_nobody/signing-secret',
        'GET /api/keys/%00',
        'GET /api/nothing',
      ].map((at) => [at, 404, 'not_found'] as const),
      ['PUT /api/tenants', 405, 'method_not_allowed'],
      ['OPTIONS /api/tenants', 204, undefined],
      ['HEAD /api/tenants', 200, undefined],
      ['POST /api/tenants', 415, 'unsupported_media_type', 'name=a', form],
      ['POST /api/tenants', 415, 'unsupported_media_type', { name: 'a' }, { 'content-encoding': 'gzip' }],
      ['POST /api/tenants', 413, 'too_large', { name: 'a'.repeat(70_000) }],
    ] as const) {
      const answer = await call(at, body, headers);
      expect([answer.status, answer.code], at).to.deep.equal([status, code]);
      const allow = status === 405 || status === 204 ? 'GET, HEAD, POST, OPTIONS' : null;
      expect(answer.headers.get('allow'), at).to.equal(allow);
    }
  });

  it('shows a signing secret with a new key and again, and replaces it while the key lives', async () => {
    await site.admin.createTenant('signing', 'test');
    const { id, key, signing_secret } = (await call('POST /api/tenants/signing/keys', {})).data;
    expect(signing_secret).to.equal(signing.current(id, 1));
    const [show, rotate] = [`POST /api/keys/${id}/signing-secret`, `POST /api/keys/${id}/rotate-signing`];
    expect((await call(show)).data).to.deep.equal({ id, signing_secret });
    const rotated = { id, signing_secret: signing.current(id, 2) };
    expect((await call(rotate, {})).data).to.deep.equal(rotated);
    expect((await call(show)).data).to.deep.equal(rotated);
    expect(await site.verifier.verify(key)).to.have.property('state', 'active');
    const audit = await call(`GET /api/audit?key=${id}`);
    expect(actionsOf(audit)).to.deep.equal([
      ...['key.signing_secret', 'key.rotate_signing', 'key.signing_secret', 'key.issue'],
    ]);
    const rest = [audit.data, (await call(`GET /api/keys/${id}`)).data, site.logs];
    expect(JSON.stringify(rest)).not.to.include('hgs_');
    await call(`DELETE /api/keys/${id}`);
    for (const at of [show, rotate]) expect((await call(at)).problems.id).to.include('revoked');
  });

  it('shows the webhook secret with the tenant alone, and replaces it', async () => {
    const { id } = await site.admin.createTenant('hooked', 'test');
    const path = '/api/tenants/hooked';
    expect((await call(`GET ${path}`)).data.webhook_secret).to.equal(signing.webhooks.current(id, 1));
    const rotated = (await call(`POST ${path}/rotate-webhook-secret`)).data;
    expect(rotated.webhook_secret).to.equal(signing.webhooks.current(id, 2));
    expect(Date.parse(rotated.previous_until)).to.be.greaterThan(Date.now());
    expect((await call(`GET ${path}`)).data.webhook_secret).to.equal(rotated.webhook_secret);
    const audit = await call('GET /api/audit?tenant=hooked');
    expect(actionsOf(audit)).to.deep.equal(['tenant.rotate_webhook_secret', 'tenant.create']);
    const others = [await call('GET /api/tenants'), await call(`PATCH ${path}`, { rate: 3 }), audit];
    expect(JSON.stringify([others, site.logs])).not.to.include('whsec_');
  });

  it('adds, replaces, shows and deletes recipes', async () => {
    await site.admin.createTenant('cooking', 'test');
    const at = '/api/tenants/cooking/recipes';
    const definition = {
      summary: 'Card',
      steps: [{ use: 'media/resize', width: '{width}' }],
      format: 'webp',
    };
    const added = await call(`PUT ${at}/card`, definition);
    expect(added.status).to.equal(201);
    expect(added.data.recipe).to.deep.include({ name: 'card', ...definition });
    const changed = await call(`PUT ${at}/card`, { ...definition, format: 'png' });
    expect([changed.status, changed.data.recipe.format]).to.deep.equal([200, 'png']);
    expect((await call(`GET ${at}/card`)).data).to.deep.equal(changed.data);
    expect((await call(`GET ${at}`)).data).to.deep.equal({ recipes: [changed.data.recipe] });
    expect((await call(`PUT ${at}/card`, {})).problems).to.have.keys('steps');
    expect((await call(`PUT ${at}/Card`, definition)).problems).to.have.keys('recipe');
    const large = { ...definition, summary: 'x'.repeat(17_000) };
    expect((await call(`PUT ${at}/card`, large)).status).to.equal(413);
    expect((await call(`DELETE ${at}/card`)).status).to.equal(200);
    for (const method of ['GET', 'DELETE']) expect((await call(`${method} ${at}/card`)).status).to.equal(404);
    const audit = await call('GET /api/audit?tenant=cooking');
    expect(actionsOf(audit)).to.deep.equal(['recipe.delete', 'recipe.put', 'recipe.put', 'tenant.create']);
  });

  it('needs a master secret for all that it signs, and names the variable', async () => {
    const database = await createSqliteDatabase();
    const none = createSigningSecrets(undefined);
    const ids = () => services.map(({ id }) => id);
    const admin = createKeyAdmin({
      store: await database.open(),
      signing: none,
      compileRecipe,
      services: ids,
    });
    await withTestSite(
      { admin },
      async (without) => {
        const ask = clientOf(() => without);
        await ask('POST /api/tenants', { name: 'acme' });
        const shown = (await ask('GET /api/tenants/acme')).data;
        expect(shown).to.include({ name: 'acme', webhook_secret: null });
        expect(shown.webhook_hint).to.include('HELPER_SIGNING_SECRET');
        const { id, key, signing_secret } = (await ask('POST /api/tenants/acme/keys')).data;
        expect(signing_secret).to.equal(null);
        expect(await without.verifier.verify(key)).to.have.property('state', 'active');
        for (const path of [
          `keys/${id}/signing-secret`,
          `keys/${id}/rotate-signing`,
          'tenants/acme/rotate-webhook-secret',
        ]) {
          const { status, code, message } = await ask(`POST /api/${path}`);
          expect([status, code]).to.deep.equal([503, 'storage_unavailable']);
          expect(message).to.include('HELPER_SIGNING_SECRET');
        }
        expect(JSON.stringify(await ask('GET /api/audit'))).not.to.match(/signing|webhook/);
      },
      database,
    );
  });
});

const inputs = createKeyInputs(() => services.map(({ id }) => id), Date.now);
const routes = apiRoutes(inputs);
const document = openApiDocument(routes, 'http://127.0.0.1:8081', inputs.knownScopes());

describe('site/api: who may use it', () => {
  const site = useTestSite({ proxies: 1 });
  const call = clientOf(() => site);
  let cookie: string;
  before(async () => {
    cookie = [...(await signedIn(site.url, site.operator)).cookies].map((pair) => pair.join('=')).join('; ');
  });
  const pathOf = ({ method, path }: ApiRoute) => `${method} ${path.replace(/:\w+/g, 'nobody')}`;
  const operations = routes.filter(({ forMembers }) => !forMembers).map(pathOf);
  const others = ['GET /api/openapi.json', 'GET /metrics', 'GET /api', 'GET /api/nothing-here'];

  for (const [at, operation] of [...operations, ...others].entries()) {
    it(`opens ${operation} to the operator token alone`, async () => {
      // Each with tries of its own.
      const address = { 'x-forwarded-for': `198.51.100.${at}` };
      const attempts: Record<string, string>[] = [
        { authorization: '' },
        { authorization: 'Bearer' },
        { authorization: 'Bearer wrong' },
        { authorization: `Bearer ${operatorToken}x` },
        { authorization: `Basic ${btoa(`operator:${operatorToken}`)}` },
        { authorization: '', cookie },
      ];
      for (const headers of attempts) {
        const answer = await call(operation, undefined, { ...address, ...headers });
        expect([answer.status, answer.code], JSON.stringify(headers)).to.deep.equal([401, 'unauthorized']);
        expect(answer.headers.get('www-authenticate')).to.match(/^Bearer /);
      }
      const [method = '', path] = operation.split(' ');
      const headers = { ...address, authorization: `bearer ${operatorToken}` };
      expect((await fetch(site.url + path, { method, headers })).status).not.to.equal(401);
    });
  }

  describe('recipes, with a session', () => {
    const members = routes.filter(({ forMembers }) => forMembers);
    const cookies: Record<string, string> = { nobody: '' };
    const cookieOf = (browser: BrowserLike) => [...browser.cookies].map((pair) => pair.join('=')).join('; ');
    const asPut = { steps: [{ use: 'media/resize' }] };
    before(async () => {
      for (const name of ['acme', 'globex']) {
        await site.admin.createTenant(name, 'test');
        cookies[`member of ${name}`] = cookieOf(await join(site, name, `ada@${name}.example`));
      }
      cookies['viewer of acme'] = cookieOf(await join(site, 'acme', 'vic@acme.example', 'viewer'));
      cookies.support = cookieOf(await join(site, null, 'sue@gateway.example', 'support'));
      cookies.operator = cookie;
    });
    beforeEach(() => site.admin.putRecipe('acme', 'card', { ...asPut, summary: 'of acme' }, 'test'));

    for (const { method, path } of members) {
      const at = `${method} ${path.replace(':name', 'acme').replace(':recipe', 'card')}`;
      for (const [role, status] of [
        ['nobody', 401],
        ['member of globex', 404],
        ['member of acme', 200],
        ['operator', 200],
        ['viewer of acme', method === 'GET' ? 200 : 403],
        ['support', method === 'GET' ? 200 : 403],
      ] as const)
        it(`answers ${status} to ${role}: ${at}`, async () => {
          const headers = { authorization: '', cookie: cookies[role] ?? '' };
          const answer = await call(at, method === 'PUT' ? asPut : undefined, headers);
          expect(answer.status).to.equal(status);
          if (status !== 200) expect(answer.json).not.to.have.property('data');
          if (status !== 200) expect(JSON.stringify(answer.json)).not.to.include('acme');
          const kept = (await site.admin.listRecipes('acme')).recipes;
          expect(kept).to.have.length(status === 200 && method === 'DELETE' ? 0 : 1);
        });
    }

    it('refuses changes from other sites and under other names, and notes whose change it was', async () => {
      const own = { authorization: '', cookie: cookies['member of acme'] ?? '' };
      const at = 'PUT /api/tenants/acme/recipes/mine';
      for (const headers of [
        { origin: 'https://evil.example' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site', origin: 'null' },
      ])
        expect((await call(at, asPut, { ...own, ...headers } as Record<string, string>)).status).to.equal(
          403,
        );
      const named = await new Promise<number | undefined>((resolve, reject) => {
        const headers = { cookie: own.cookie, host: 'evil.example' };
        request(`${site.url}/api/tenants/acme/recipes`, { headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        })
          .on('error', reject)
          .end();
      });
      expect(named).to.equal(403);
      expect((await call(at, asPut, { ...own, origin: site.url })).status).to.equal(201);
      const [entry] = (await call('GET /api/audit?tenant=acme&limit=1')).data.entries;
      expect(entry).to.deep.include({ action: 'recipe.put', actor: 'user:ada@acme.example' });
    });
  });

  it('is closed to everybody where no token is set', async () => {
    await withTestSite({ operatorToken: undefined }, async (closed) => {
      for (const authorization of ['', 'Bearer ', 'Bearer undefined'])
        expect(
          (await clientOf(() => closed)('GET /api/tenants', undefined, { authorization })).status,
        ).to.equal(401);
    });
  });

  it('lets a support token read, an operator token do everything, and a revoked one nothing', async () => {
    const made = async (label: string, role: string) =>
      (await call('POST /api/tokens', { label, role })).data;
    const support = await made('reader', 'support');
    const operator = await made('writer', 'operator');
    const as = ({ token }: { token: string }) => ({ authorization: `Bearer ${token}` });
    await call('POST /api/tenants', { name: 'of-tokens' });
    for (const { method, path, reads } of routes) {
      const at = `${method} ${path.replace(':name', 'of-tokens').replace(/:\w+/g, 'missing')}`;
      const body = method === 'GET' ? undefined : {};
      const { status } = await call(at, body, as(support));
      if (method === 'GET' || reads) expect(status, at).not.to.be.oneOf([401, 403]);
      else expect(status, at).to.equal(403);
      expect((await call(at, body, as(operator))).status, at).not.to.be.oneOf([401, 403]);
    }
    for (const path of ['/metrics', '/api/openapi.json'])
      expect((await fetch(site.url + path, { headers: as(support) })).status).to.equal(200);

    // The operator's token has deleted it.
    await call('POST /api/tenants', { name: 'of-tokens' });
    await call('PATCH /api/tenants/of-tokens', { notice_url: 'https://hooks.example.com/T0/secret' });
    const shown = await call('GET /api/tenants/of-tokens', undefined, as(support));
    expect(shown.data.webhook_secret).to.equal(null);
    const listed = await call('GET /api/tenants?q=of-tokens', undefined, as(support));
    for (const { notice_url } of [shown.data, ...listed.data.tenants])
      expect(notice_url).to.equal('https://hooks.example.com');
    expect((await call('GET /api/tenants/of-tokens')).data.notice_url).to.include('secret');
    expect((await call('GET /api/tenants/of-tokens')).data.webhook_secret).to.match(/^whsec_/);
    expect((await call('POST /api/tenants', { name: 'by-token' }, as(operator))).status).to.equal(200);
    const [entry] = (await call('GET /api/audit?limit=1')).data.entries;
    expect(entry).to.deep.include({ actor: 'token:writer', action: 'tenant.create' });
    await call(`DELETE /api/tokens/${operator.id}`);
    expect((await call('GET /api/tenants', undefined, as(operator))).status).to.equal(401);
  });

  it('slows down wrong tokens by address, and never the right one', async () => {
    const ask = (authorization: string, address: string) =>
      fetch(`${site.url}/metrics`, { headers: { authorization, 'x-forwarded-for': address } });
    const guesses = await Promise.all(
      Array.from({ length: 40 }, (_, n) => ask(`Bearer guess-${n}`, '192.0.2.1')),
    );
    const refused = guesses.filter(({ status }) => status === 429);
    expect(refused).to.have.length(10);
    expect(Number(refused[0]?.headers.get('retry-after'))).to.be.within(1, 600);
    expect(refused[0]?.headers.get('www-authenticate')).to.equal(null);
    expect(await refused[0]?.text()).to.include('"code":"rate_limited"');
    expect((await ask('Bearer guess', '192.0.2.2')).status).to.equal(401);
    expect((await ask('', '192.0.2.1')).status, 'no guess at all').to.equal(401);
    for (const address of ['192.0.2.1', '192.0.2.2'])
      expect((await ask(`Bearer ${operatorToken}`, address)).status).to.equal(200);
  });
});

describe('site/openapi', () => {
  const site = useTestSite();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      at: `${method.toUpperCase()} ${path}`,
      ...(operation as {
        operationId: string;
        parameters?: { name: string; schema: JsonSchema }[];
        requestBody?: { content: Record<string, { schema: { properties: Record<string, JsonSchema> } }> };
        responses: Record<number, { $ref: string }>;
      }),
    })),
  );
  const operationAt = (wanted: string) => operations.find(({ at }) => at === wanted);

  it('is a valid OpenAPI 3.1 document, with an id of its own for each operation', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document));
    expect(result.valid, JSON.stringify(result.errors)).to.equal(true);
    expect(validator.version).to.equal('3.1');
    expect(new Set(operations.map(({ operationId }) => operationId)).size).to.equal(routes.length);
    expect(Object.keys(document.paths).join()).not.to.include(':');
  });

  it('names every code of a status, and the bounds of the API in plain JSON Schema', () => {
    const name = operationAt('GET /api/tenants')?.responses[503]?.$ref.split('/').at(-1) ?? '';
    expect(document.components.responses[name])
      .to.have.property('description')
      .that.includes('`keys_unavailable`')
      .and.includes('`storage_unavailable`');
    const issue = operationAt('POST /api/tenants/{name}/keys')?.requestBody?.content['application/json'];
    const { label, scopes } = issue?.schema.properties ?? {};
    expect(label).to.include({ minLength: 1, maxLength: 100 });
    expect(scopes).to.include({ minItems: 1, maxItems: 100 });
    const { anyOf } = (scopes?.items ?? {}) as JsonSchema;
    const [{ enum: known }, { pattern }] = anyOf as [JsonSchema, JsonSchema];
    expect(known).to.include.members(['text/*', 'text/diff-two-strings', 'recipes/*']);
    expect('recipes/card').to.match(new RegExp(pattern as string));
    const list = operationAt('GET /api/tenants/{name}/keys')?.parameters ?? [];
    const limit = { type: 'integer', minimum: 1, maximum: 1000, default: 100 };
    expect(list.find(({ name }) => name === 'limit')?.schema).to.deep.equal(limit);
    expect(JSON.stringify(document)).not.to.match(/"(line|future|form|day|scope)":(true|\d)/);
  });

  it('says of each answer what it really is', async () => {
    const call = clientOf(() => site);
    await site.admin.createTenant('acme', 'test');
    const { id, key } = await site.admin.issueKey('acme', { label: 'billing' }, 'test');
    const revoked = (await call('POST /api/tokens', { label: 'old', role: 'support' })).data;
    const served = (await call('GET /api/openapi.json')).json as typeof document;
    expect(served.paths).to.deep.equal(JSON.parse(JSON.stringify(document.paths)));
    const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, date: true } });
    ajv.addSchema({ ...served, $id: 'doc' });
    // What ends the key comes last, and what ends its tenant after that.
    const ends = ['DELETE /api/keys/{id}', 'DELETE /api/tenants/{name}'];
    const inOrder = operations.toSorted((a, b) => ends.indexOf(a.at) - ends.indexOf(b.at));
    for (const { at, requestBody } of inOrder) {
      const bodies: Record<string, object> = {
        'POST /api/tenants': { name: 'globex' },
        'POST /api/tokens': { label: 'new', role: 'support' },
        'PUT /api/tenants/{name}/recipes/{recipe}': { steps: [] },
        'POST /api/keys/find': { key },
      };
      const names = {
        name: 'acme',
        id: at.includes('/tokens/') ? revoked.id : id,
        recipe: 'card',
        plan: 'team',
      };
      const path = at.replace(/\{(\w+)\}/g, (_, name) => names[name as keyof typeof names]);
      const { json } = await call(path, bodies[at] ?? (requestBody && {}));
      const [method = '', pattern = ''] = at.split(' ');
      const pointer = pattern.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');
      const schema = `doc#/paths/${pointer}/${method.toLowerCase()}/responses/200/content/application~1json/schema`;
      const validate = ajv.getSchema(schema);
      expect(validate?.(json), `${at} ${JSON.stringify(validate?.errors)}`).to.equal(true);
    }
  });

  it('has the operations that the README names, and no other', () => {
    const real = operations.map(({ at }) => at.replaceAll('{', ':').replaceAll('}', ''));
    const rows = rowsOf(sectionOf(readText('gateway/site/README.md'), 'The JSON API'));
    const beside = ['GET /api/openapi.json', 'GET /metrics'];
    expect(rows.flatMap(([first]) => codesIn(first))).to.have.members([...real, ...beside]);
  });
});
