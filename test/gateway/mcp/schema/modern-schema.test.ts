import { expect } from 'chai';
import { modernSchema } from '../../../../gateway/mcp/schema/modern-schema.js';

function property(schema: Record<string, unknown>, beside: Record<string, unknown> = {}) {
  const made = modernSchema({ type: 'object', properties: { it: schema }, ...beside });
  return (made.properties as Record<string, unknown>).it;
}

describe('schemas for agents', () => {
  it('write several types as alternatives', () => {
    expect(property({ type: ['number', 'string'], fraction: true, default: 0.5 })).to.deep.equal({
      anyOf: [{ type: 'number' }, { type: 'string' }],
      default: 0.5,
    });
    expect(property({ type: 'integer', nullable: true, minimum: 1 })).to.deep.equal({
      anyOf: [{ type: 'integer' }, { type: 'null' }],
      minimum: 1,
    });
    expect(property({ type: ['string', 'null'], anyOf: [{ maxLength: 3 }] })).to.deep.equal({
      anyOf: [{ maxLength: 3 }],
      allOf: [{ anyOf: [{ type: 'string' }, { type: 'null' }] }],
    });
  });

  it('list the spellings of a choice, and leave colours to their description', () => {
    expect(property({ type: 'string', choice: { png: [], jpg: ['jpeg'] } })).to.deep.equal({
      type: 'string',
      enum: ['png', 'jpg', 'jpeg'],
    });
    expect(property({ type: 'string', color: true, drawable: true })).to.deep.equal({ type: 'string' });
  });

  it('keep definitions inside, tuples in the new words, and loops', () => {
    const made = modernSchema({
      type: 'object',
      properties: { tree: { $ref: '#/definitions/node' } },
      definitions: {
        node: {
          type: 'object',
          properties: {
            pair: {
              type: 'array',
              items: [{ type: ['string', 'null'] }],
              minItems: 1,
              additionalItems: false,
            },
            next: { $ref: '#/definitions/node' },
          },
        },
      },
    });
    const text = JSON.stringify(made);
    type Node = { properties: Record<string, unknown> };
    const [[name, node] = ['', { properties: {} }]] = Object.entries(made.$defs as Record<string, Node>);
    expect(made.properties).to.deep.equal({ tree: { $ref: `#/$defs/${name}` } });
    expect(node.properties.next).to.deep.equal({ $ref: `#/$defs/${name}` });
    expect(node.properties.pair).to.deep.include({
      prefixItems: [{ anyOf: [{ type: 'string' }, { type: 'null' }] }],
      items: false,
    });
    expect(text).not.to.include('definitions');
  });

  it('leave out what only OpenAPI knows', () => {
    const branch = (kind: string) => ({
      type: 'object',
      required: ['kind'],
      properties: { kind: { const: kind } },
    });
    const text = JSON.stringify(property({ type: 'object', oneOf: [branch('a'), branch('b')] }));
    expect(text).not.to.include('discriminator');
    expect(text).to.include('oneOf');
  });

  it('take a parameter by any name for what it is', () => {
    const made = modernSchema({
      type: 'object',
      properties: { color: { type: 'string' }, type: { type: 'string' } },
    });
    expect(made.properties).to.deep.equal({ color: { type: 'string' }, type: { type: 'string' } });
  });
});
