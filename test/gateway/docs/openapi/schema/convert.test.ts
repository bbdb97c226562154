import { expect } from 'chai';
import type { JsonSchema } from '../../../../../schemas/json-schema.js';
import { converted, judgeBy } from './convert.js';

describe('docs/openapi: a schema of draft-07 as one of 2020-12', () => {
  it('has tuples as prefixItems', () => {
    const { components: _, ...schema } = converted({
      type: 'array',
      items: [{ type: 'number' }, { type: 'string' }],
      additionalItems: false,
      minItems: 2,
    });
    expect(schema).to.deep.equal({
      type: 'array',
      prefixItems: [{ type: 'number' }, { type: 'string' }],
      items: false,
      minItems: 2,
    });
  });

  it('says nothing of additionalItems beside one schema for all items', () => {
    expect(judgeBy({ type: 'array', items: { type: 'number' }, additionalItems: false })([1, 2])).to.equal(
      true,
    );
  });

  it('keeps apart what depends on names and on schemas', () => {
    const schema = converted({
      type: 'object',
      dependencies: { a: ['b'], c: { required: ['d'] }, e: false },
    });
    expect(schema).to.deep.include({
      dependentRequired: { a: ['b'] },
      dependentSchemas: { c: { required: ['d'] }, e: false },
    });
    expect(schema).not.to.have.property('dependencies');
  });

  it('takes null where ajv’s nullable does', () => {
    expect(judgeBy({ type: 'string', nullable: true })(null)).to.equal(true);
  });

  it('puts what is referred to among the components, what holds itself too', () => {
    const tree: JsonSchema = {
      $id: 'https://a.example/tree',
      definitions: {
        'a/node': {
          type: 'object',
          properties: { value: { type: 'number' }, next: { $ref: '#/definitions/a~1node' } },
          additionalProperties: false,
        },
      },
      type: 'object',
      properties: { root: { $ref: '#/definitions/a~1node' } },
    };
    const schema = converted(tree);
    expect(schema).to.have.nested.property('properties.root.$ref', '#/components/schemas/it.a_node');
    expect(JSON.stringify(schema)).not.to.match(/definitions|\$id/);
    const judge = judgeBy(tree);
    expect(judge({ root: { value: 1, next: { next: { value: 2 } } } })).to.equal(true);
    expect(judge({ root: { next: { next: { value: 'x' } } } })).to.equal(false);
  });

  it('finds parts by any pointer, by an $id, and by one that is a fragment', () => {
    const judge = judgeBy({
      type: 'object',
      properties: {
        size: { type: 'object', properties: { 'a%b': { type: 'integer' } } },
        same: { $ref: '#/properties/size/properties/a%25b' },
        named: { $ref: 'part.json#/definitions/inner' },
        marked: { $ref: '#mark' },
      },
      definitions: {
        part: {
          $id: 'part.json',
          definitions: { inner: { $ref: '#/definitions/text' }, text: { type: 'string' } },
        },
        marked: { $id: '#mark', type: 'boolean' },
      },
    });
    expect(judge({ same: 1, named: 'x', marked: true })).to.equal(true);
    for (const wrong of [{ same: 'x' }, { named: 1 }, { marked: 1 }]) {
      expect(judge(wrong), JSON.stringify(wrong)).to.equal(false);
    }
  });

  it('leaves data alone that looks like a schema', () => {
    const value = { items: [{ type: 'x' }], nullable: true, $ref: '#/x' };
    expect(converted({ type: 'object', default: value, const: value })).to.deep.include({
      default: value,
      const: value,
    });
  });

  it('tells alternatives apart as OpenAPI does, each a component', () => {
    const shape = (kind: string, size: string) => ({
      type: 'object',
      properties: { kind: { const: kind }, [size]: { type: 'number' } },
      required: ['kind', size],
      additionalProperties: false,
    });
    const schema = { type: 'object', oneOf: [shape('circle', 'r'), shape('square', 'side')] };
    const { components: _, ...whole } = converted(schema);
    const circle = '#/components/schemas/it.kind.circle';
    const square = '#/components/schemas/it.kind.square';
    expect(whole).to.deep.equal({
      type: 'object',
      oneOf: [{ $ref: circle }, { $ref: square }],
      discriminator: { propertyName: 'kind', mapping: { circle, square } },
    });
    expect(judgeBy(schema)({ kind: 'square', side: 1 })).to.equal(true);
    expect(judgeBy(schema)({ kind: 'square', r: 1 })).to.equal(false);
  });
});
