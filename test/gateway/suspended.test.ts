import { expect } from 'chai';
import { signUrl } from '../../gateway/signing/signed-url.js';
import { operatorToken, startTestGateway, type TestGateway } from './harness.js';
import { master } from './signing/signing.js';

describe('calls of a suspended tenant and of a paused key', () => {
  let world: TestGateway;
  let signed: string;
  let [job, keyId] = ['', ''];
  const steps = JSON.stringify([{ use: 'media/resize', width: 4 }]);
  const text = { service: 'text/remove-stopwords', inputs: [{ text: 'the cat' }] };
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  const mcp = { accept: 'application/json, text/event-stream', 'mcp-method': 'tools/list' };

  before(async () => {
    world = await startTestGateway({
      HELPER_OPERATOR_TOKEN: operatorToken,
      HELPER_SIGNING_SECRET: master,
      HELPER_DOCS: 'off',
    });
    keyId = world.gateway.firstKey?.id ?? '';
    const { signing_secret } = await world.manage(`/api/keys/${keyId}/signing-secret`);
    const url = '/text/remove-stopwords?text=the%20cat';
    signed = signUrl({ url, kid: keyId, secret: signing_secret, exp: Math.floor(Date.now() / 1000) + 600 });
    job = (await world.call('/jobs', { body: text })).json.data.id;
    const recipe = { steps: [{ use: 'media/resize', width: 4 }] };
    await world.manage('/api/tenants/demo/recipes/card', recipe, 'PUT');
  });
  after(() => world.close());

  const calls = () => ({
    'a helper': world.call('/text/remove-stopwords?text=the'),
    'a cached answer': world.call('/text/remove-stopwords?text=the'),
    'a signed url': world.call(signed, { key: null }),
    'a recipe': world.call('/recipes/card?url=https://example.com/a.png'),
    'a pipeline': world.call(`/pipeline?steps=${encodeURIComponent(steps)}`),
    'a new job': world.call('/jobs', { body: text }),
    'the list of jobs': world.call('/jobs'),
    'a job': world.call(`/jobs/${job}`),
    'an item': world.call(`/jobs/${job}/items/0`),
    'the end of a job': world.call(`/jobs/${job}`, { method: 'DELETE' }),
    'an agent': world.call('/mcp', { body: list, headers: mcp }),
  });

  for (const [what, code, path, held] of [
    ['suspended tenant', 'tenant_suspended', () => '/api/tenants/demo', 'suspended'],
    ['paused key', 'key_paused', () => `/api/keys/${keyId}`, 'paused'],
  ] as const)
    it(`are all refused of a ${what}, and answered again afterwards`, async () => {
      await world.manage(path(), { state: held }, 'PATCH');
      for (const [name, call] of Object.entries(calls())) {
        const { status, bytes } = await call;
        expect(status, name).to.equal(403);
        expect(Buffer.from(bytes).toString(), name).to.include(code);
      }
      await world.manage(path(), { state: 'active' }, 'PATCH');
      const { json } = await world.call(signed, { key: null });
      expect(json.data.text.trim()).to.equal('cat');
      expect((await world.call(`/jobs/${job}`)).status).to.equal(200);
    });
});
