import { expect } from 'chai';
import sharp from 'sharp';
import { createTenantHelpers } from '../../gateway/recipes/tenant-helpers.js';
import { signUrl } from '../../gateway/signing/signed-url.js';
import { until } from '../needs.js';
import { paint, pngOf, rejectionOf } from '../pool/image/pictures.js';
import { type Answer, type CallInit, operatorToken, shareGateway, type TestGateway } from './harness.js';
import { modernAgent } from './mcp/agents.js';

type Definition = Record<string, unknown>;

const card = (color: string): Definition => ({
  summary: 'A card',
  input: { width: { default: 4, maximum: 20 } },
  steps: [
    { use: 'media/resize', width: 30 },
    { use: 'media/add-border', width: '{width}', color },
  ],
  format: 'png',
});

describe('the recipes of tenants', function () {
  this.timeout(30_000);
  let api: TestGateway;
  let origin: string;
  let picture: Buffer;
  const tenants = ['ann', 'ben'] as const;
  const keys = new Map<string, string>();
  const keyOf = (tenant: string) => keys.get(tenant) ?? '';

  before(async () => {
    picture = await pngOf(paint(60, 40, (x, y) => [x, y, 90]));
    ({ api, origin } = await shareGateway((_, response) => void response.end(picture)));
    for (const name of tenants) {
      await api.manage('/api/tenants', { name });
      keys.set(name, (await api.manage(`/api/tenants/${name}/keys`)).key);
    }
    await put('ann', 'card', card('red'));
    await put('ben', 'card', card('blue'));
    await put('ann', 'own', card('green'));
  });
  after(async () => {
    for (const tenant of tenants) for (const name of ['card', 'own']) await remove(tenant, name);
  });

  const put = (tenant: string, name: string, body: Definition) =>
    api.manage(`/api/tenants/${tenant}/recipes/${name}`, body, 'PUT');
  const remove = (tenant: string, name: string) =>
    api.manage(`/api/tenants/${tenant}/recipes/${name}`, {}, 'DELETE').catch(() => undefined);
  const call = (tenant: string, path: string, init: CallInit = {}) =>
    api.call(path, { key: keyOf(tenant), ...init });
  const upload = () => {
    const body = new FormData();
    body.set('file', new Blob([new Uint8Array(picture)]), 'picture');
    return body;
  };
  const code = ({ status, json }: Answer) => `${status} ${json?.error?.code}`;
  async function edgeOf({ status, bytes }: Answer): Promise<number[]> {
    expect(status).to.equal(200);
    const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    return [info.width, ...data.subarray(0, 3)];
  }

  it('are served to them alone, each under its own name', async () => {
    const [one, other] = [
      await call('ann', '/recipes/card', { body: upload() }),
      await call('ben', '/recipes/card', { body: upload() }),
    ];
    expect(await edgeOf(one)).to.deep.equal([38, 255, 0, 0]);
    expect(await edgeOf(other)).to.deep.equal([38, 0, 0, 255]);
    expect(one.headers.get('etag')).not.to.equal(other.headers.get('etag'));
    const wide = await call('ann', `/recipes/card?width=9&url=${origin}/a.png`);
    expect(await edgeOf(wide)).to.deep.equal([48, 255, 0, 0]);
    const [none, foreign] = [await call('ben', '/recipes/none'), await call('ben', '/recipes/own')];
    expect([code(none), code(foreign)]).to.deep.equal(['404 not_found', '404 not_found']);
    const sameFor = ({ headers, json }: Answer) => [[...headers.keys()], json.error, json.meta.service];
    expect(sameFor(none)).to.deep.equal(sameFor(foreign));
    const tag = { 'if-none-match': one.headers.get('etag') ?? '' };
    const asked = await call('ben', `/recipes/card?url=${origin}/a.png`, { headers: tag });
    expect(asked.status).to.equal(200);
  });

  it('name their own parameters, and what they fix', async () => {
    const { status, json } = await call('ann', '/recipes/card?width=21&format=jpg&steps=[]', {
      body: upload(),
    });
    const fields = json.error.details.map(({ field }: { field: string }) => field).sort();
    expect([status, json.meta.service, ...fields]).to.deep.equal([
      ...[400, 'recipes/card', 'format', 'steps', 'width'],
    ]);
    const dry = await call('ann', '/recipes/card?width=7&dryrun=1');
    expect(dry.json.data).to.include({ operation: 'card', source_url: null, format: 'png' });
    expect(dry.json.data.steps[1]).to.include({ border_width: 7, color: '#ff0000' });
  });

  it('are opened by their own scopes and no others', async () => {
    const issue = async (scopes: string[]) =>
      (await api.manage('/api/tenants/ann/keys', { scopes })).key as string;
    const [steps, one, all] = [
      await issue(['media/*', 'pipeline']),
      await issue(['recipes/card']),
      await issue(['recipes/*']),
    ];
    const ask = async (key: string, path: string) => code(await api.call(`${path}?dryrun=1`, { key }));
    expect(await ask(steps, '/recipes/card')).to.equal('403 scope_denied');
    expect(await ask(steps, '/recipes/none')).to.equal('403 scope_denied');
    expect(await ask(one, '/recipes/card')).to.equal('200 undefined');
    expect(await ask(one, '/recipes/own')).to.equal('403 scope_denied');
    expect(await ask(one, '/media/resize')).to.equal('403 scope_denied');
    expect(await ask(all, '/recipes/own')).to.equal('200 undefined');
    expect(await ask(all, '/recipes/none')).to.equal('404 not_found');
  });

  it('are opened by a signed url', async () => {
    const made = await api.manage('/api/tenants/ann/keys', { scopes: ['recipes/card'] });
    const sign = (path: string) =>
      signUrl({
        url: `${api.url}${path}`,
        kid: made.id,
        secret: made.signing_secret,
        exp: Math.floor(Date.now() / 1000) + 60,
      });
    const address = encodeURIComponent(`${origin}/b.png`);
    const answer = await fetch(sign(`/recipes/card?url=${address}`));
    expect(answer.status).to.equal(200);
    const cached = await fetch(sign(`/recipes/card?url=${address}`), {
      headers: { 'if-none-match': answer.headers.get('etag') ?? '' },
    });
    expect(cached.status).to.equal(304);
    expect((await fetch(sign(`/media/resize?width=9&url=${address}`))).status).to.equal(403);
  });

  it('are tools and services of jobs for them alone, and in no public document', async () => {
    const names = new Map<string, string[]>();
    for (const tenant of tenants) {
      const agent = await modernAgent(api.url, keyOf(tenant));
      names.set(
        tenant,
        (await agent.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith('recipes')),
      );
      const shown = await agent.callTool({ name: 'recipes_own', arguments: { dryrun: true } }).catch(String);
      if (tenant === 'ann') expect(shown.structuredContent).to.include({ operation: 'own' });
      else expect(shown).to.include('Unknown tool');
      await agent.close();
    }
    expect(Object.fromEntries(names)).to.deep.equal({
      ann: ['recipes_card', 'recipes_own'],
      ben: ['recipes_card'],
    });
    const job = { service: 'recipes/own', inputs: [{ url: `${origin}/c.png` }, { width: 99 }] };
    const refused = await call('ben', '/jobs', { body: job });
    expect([refused.status, refused.json.error.details[0].field]).to.deep.equal([400, 'service']);
    const { json } = await call('ann', '/jobs', { body: job });
    const done = await until(async () => {
      const { json: seen } = await call('ann', `/jobs/${json.data.id}`);
      return seen.data.state === 'done' && seen.data;
    });
    expect(done.items.map(({ state }: { state: string }) => state)).to.deep.equal(['done', 'failed']);
    expect(await edgeOf(await call('ann', `/jobs/${json.data.id}/items/0`))).to.deep.equal([38, 0, 128, 0]);
    const document = await fetch(`${api.url}/openapi.json`);
    expect(await document.text()).not.to.include('recipes/');
  });

  it('hold at once as they were changed, and never answer as they were', async () => {
    const path = `/recipes/own?url=${origin}/d.png`;
    const first = await call('ann', path);
    expect((await call('ann', path)).headers.get('x-cache')).to.equal('hit');
    await put('ann', 'own', card('black'));
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
    expect(await edgeOf(await call('ann', path, { headers }))).to.deep.equal([38, 0, 0, 0]);
    await put('ann', 'own', card('green'));
    expect((await call('ann', path, { headers })).status).to.equal(304);
    await remove('ann', 'own');
    expect(code(await call('ann', path))).to.equal('404 not_found');
    await put('ann', 'own', card('green'));
  });

  it('are counted as services of their own', async () => {
    const seen = await until(async () => {
      const usage = await fetch(new URL('/metrics', api.gateway.connectUrl), {
        headers: { authorization: `Bearer ${operatorToken}` },
      });
      const text = await usage.text();
      return /service="recipes\/card"/.test(text) && text;
    });
    expect(seen).to.include('service="recipes/card"');
  });

  it('are a conflict where the helper of a step has gone', async () => {
    const gone = { problems: [], gone: 'team/sepia' };
    const recipes = { findRecipe: async () => gone, listRecipes: async () => [gone] };
    const helpers = createTenantHelpers(new Map(), recipes);
    const error = await rejectionOf(helpers.find('ann', 'recipes/old'));
    expect(error).to.include({ code: 'conflict', status: 409 });
    expect((error as Error).message).to.include('team/sepia');
    expect([...(await helpers.own('ann')).keys()]).to.deep.equal([]);
  });
});
