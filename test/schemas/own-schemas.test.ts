import { Ajv } from 'ajv';
import { expect } from 'chai';
import { createKeyInputs } from '../../gateway/keys/inputs.js';
import { createUsageInput } from '../../gateway/usage/query.js';
import { declarationSchema } from '../../schemas/declaration.js';
import type { Fields } from '../../schemas/fields.js';

/** They are compiled without a look at whether they are schemas, and those of fields when they are first used. */
describe("the gateway's own schemas", () => {
  const { knownScopes: _, ...inputs } = createKeyInputs({ services: () => ['text/shout'], now: Date.now });
  const fields: Record<string, Fields<unknown>> = { ...inputs, usage: createUsageInput() };
  const schemas = Object.entries(fields).map(
    ([name, { schema }]) => [name, { type: 'object', ...schema }] as const,
  );

  for (const [name, schema] of [['declaration', declarationSchema] as const, ...schemas]) {
    it(`are JSON Schema: ${name}`, () => {
      const ajv = new Ajv({ allErrors: true });
      ajv.validateSchema(schema);
      expect(ajv.errors ?? []).to.deep.equal([]);
    });
  }

  for (const [name, { check }] of Object.entries(fields)) {
    it(`are taken by ajv's strict mode: ${name}`, () => {
      expect(check({ nowhere: 1 }).problems.map(({ field }) => field)).to.include('nowhere');
    });
  }

  it('are found out by the same look where they are none', () => {
    expect(new Ajv().validateSchema({ type: 'text' })).to.equal(false);
  });
});
