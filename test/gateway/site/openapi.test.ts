import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { createKeyInputs } from '../../../gateway/keys/inputs.js';
import { apiRoutes } from '../../../gateway/site/api.js';
import { openApiDocument } from '../../../gateway/site/openapi.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { codesIn, readText, rowsOf, sectionOf } from '../../readme.js';
import { operatorToken, services, useTestSite } from './test-site.js';

const inputs = createKeyInputs({ services: () => services.map(({ id }) => id), now: Date.now });
const document = openApiDocument(apiRoutes(inputs), 'http://127.0.0.1:8081/', inputs.knownScopes());

interface Operation {
  parameters: { name: string; schema: JsonSchema }[];
  requestBody: { content: { 'application/json': { schema: { properties: Record<string, JsonSchema> } } } };
}

describe('site/api/openapi', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document));
    expect(result.valid, JSON.stringify(result.errors)).to.equal(true);
    expect(validator.version).to.equal('3.1');
  });

  it('has an operation id of its own for each operation, and every parameter of the path', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods).map((operation) => ({ path, ...(operation as { operationId: string }) })),
    );
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(ids).to.include.members(['createTenant', 'issueKey', 'rotateKey', 'revokeKey', 'readUsage']);
    expect(Object.keys(document.paths).join()).not.to.include(':');
  });

  it('names every code of a status in its one response', () => {
    const tenants = document.paths['/api/tenants'] as Record<string, { responses: Record<number, object> }>;
    const response = tenants.get?.responses[503] as { $ref: string };
    const name = response.$ref.split('/').at(-1) ?? '';
    expect(document.components.responses[name])
      .to.have.property('description')
      .that.includes('`keys_unavailable`')
      .and.includes('`storage_unavailable`');
  });

  it('holds the bounds that the API judges by, in the words of plain JSON Schema', () => {
    const operations = document.paths['/api/tenants/{name}/keys'] as unknown as Record<string, Operation>;
    const properties = operations.post?.requestBody.content['application/json'].schema.properties ?? {};
    expect(properties.label).to.include({ minLength: 1, maxLength: 100 });
    expect(properties.scopes).to.include({ minItems: 1, maxItems: 100 });
    expect(properties.scopes?.items)
      .to.have.property('enum')
      .that.includes.members(['text/*', 'text/diff-two-strings']);
    const limit = operations.get?.parameters.find(({ name }) => name === 'limit');
    expect(limit?.schema).to.deep.equal({ type: 'integer', minimum: 1, maximum: 1000, default: 100 });
    expect(JSON.stringify(document)).not.to.match(/"(line|future|form|day|scope)":(true|\d)/);
  });

  describe('against the running site', () => {
    const site = useTestSite();
    before(async () => {
      await site.admin.createTenant('acme', 'test');
    });

    it('says of each answer what it really is', async () => {
      const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' };
      const served = await (await fetch(`${site.url}/api/openapi.json`, { headers })).json();
      expect(served.paths).to.deep.equal(JSON.parse(JSON.stringify(document.paths)));
      const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, date: true } });
      ajv.addSchema({ ...served, $id: 'doc' });

      const issued = await site.admin.issueKey('acme', { label: 'billing' }, 'test');
      for (const [method, path, at, body] of [
        ['get', '/api/tenants', '/api/tenants'],
        ['post', '/api/tenants', '/api/tenants', { name: 'globex' }],
        ['get', '/api/tenants/{name}', '/api/tenants/acme'],
        ['patch', '/api/tenants/{name}', '/api/tenants/acme', { rate: 5 }],
        ['post', '/api/tenants/{name}/rotate-webhook-secret', '/api/tenants/acme/rotate-webhook-secret', {}],
        ['post', '/api/tenants/{name}/keys', '/api/tenants/acme/keys', {}],
        ['get', '/api/tenants/{name}/keys', '/api/tenants/acme/keys'],
        ['get', '/api/keys/{id}', `/api/keys/${issued.id}`],
        ['post', '/api/keys/{id}/rotate', `/api/keys/${issued.id}/rotate`, {}],
        ['post', '/api/keys/{id}/end-grace', `/api/keys/${issued.id}/end-grace`],
        ['post', '/api/keys/{id}/signing-secret', `/api/keys/${issued.id}/signing-secret`],
        ['post', '/api/keys/{id}/rotate-signing', `/api/keys/${issued.id}/rotate-signing`, {}],
        ['get', '/api/tenants/{name}/usage', '/api/tenants/acme/usage'],
        ['get', '/api/audit', '/api/audit'],
        ['delete', '/api/keys/{id}', `/api/keys/${issued.id}`],
      ] as const) {
        const response = await fetch(`${site.url}${at}`, {
          method: method.toUpperCase(),
          headers,
          body: body ? JSON.stringify(body) : null,
        });
        const pointer = path.replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');
        const schema = `doc#/paths/${pointer}/${method}/responses/200/content/application~1json/schema`;
        const validate = ajv.getSchema(schema);
        expect(
          validate?.(await response.json()),
          `${method} ${at} ${JSON.stringify(validate?.errors)}`,
        ).to.equal(true);
      }
    });
  });
});

/** Served beside the operations of the document. */
const beside = ['GET /api/openapi.json', 'GET /metrics'];

describe('gateway/site/README', () => {
  it('names every operation of the JSON API, and no other', () => {
    const real = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll('{', ':').replaceAll('}', '')}`,
      ),
    );
    const rows = rowsOf(sectionOf(readText('gateway/site/README.md'), 'The JSON API'));
    expect(rows.flatMap(([first]) => codesIn(first))).to.have.members([...real, ...beside]);
  });
});
