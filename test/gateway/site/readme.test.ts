import { expect } from 'chai';
import { codesIn, readText, rowsOf, sectionOf } from '../../readme.js';
import { createApiClient } from './api/api-client.js';
import { openTestSite, type TestSite } from './test-site.js';

/** Served beside the operations of the document. */
const beside = ['GET /api/openapi.json', 'GET /metrics'];

describe('gateway/site/README', () => {
  let site: TestSite;
  before(async () => {
    site = await openTestSite();
  });
  after(() => site.close());

  it('names every operation of the JSON API, and no other', async () => {
    const { json } = await createApiClient(() => site)('GET', '/api/openapi.json');
    const { paths } = json as unknown as { paths: Record<string, object> };
    const real = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll('{', ':').replaceAll('}', '')}`,
      ),
    );
    const rows = rowsOf(sectionOf(readText('gateway/site/README.md'), 'The JSON API'));
    expect(rows.flatMap(([first]) => codesIn(first))).to.have.members([...real, ...beside]);
  });
});
