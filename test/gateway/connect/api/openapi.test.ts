import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { openApiDocument } from '../../../../gateway/connect/api/openapi.js';
import { apiRoutes } from '../../../../gateway/connect/api/routes.js';
import { openTestSite, services, type TestSite, TOKEN } from '../test-site.js';

const document = openApiDocument(
  apiRoutes({ services: () => services, now: Date.now }),
  'http://127.0.0.1:8081/',
);

describe('connect/api/openapi', () => {
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

  describe('against the running site', () => {
    let site: TestSite;
    before(async () => {
      site = await openTestSite();
      await site.admin.createTenant('acme', 'test');
    });
    after(() => site.close());

    it('says of each answer what it really is', async () => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
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
        ['post', '/api/tenants/{name}/keys', '/api/tenants/acme/keys', {}],
        ['get', '/api/tenants/{name}/keys', '/api/tenants/acme/keys'],
        ['get', '/api/keys/{id}', `/api/keys/${issued.id}`],
        ['post', '/api/keys/{id}/rotate', `/api/keys/${issued.id}/rotate`, {}],
        ['post', '/api/keys/{id}/end-grace', `/api/keys/${issued.id}/end-grace`],
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
