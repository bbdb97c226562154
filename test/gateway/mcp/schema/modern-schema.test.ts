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

  it('write a measure as a number or a text, and as a number where there is no other', () => {
    const bounds = { minimum: 4, maximum: 90 };
    const measure = (more: object) => ({ type: ['integer', 'string'], measure: { ...bounds, ...more } });
    const pixels = { type: 'integer', ...bounds };
    expect(property({ ...measure({}), default: 9 })).to.deep.equal({ ...pixels, default: 9 });
    expect(property(measure({ auto: true }))).to.deep.equal({
      anyOf: [pixels, { type: 'string', enum: ['auto'] }],
    });
    expect(property({ ...measure({ percent: true, auto: true }), nullable: true })).to.deep.equal({
      anyOf: [pixels, { type: 'string', description: 'Per cent such as "5%", or auto.' }, { type: 'null' }],
    });
  });

  it('leave what goes with what to descriptions', () => {
    const made = modernSchema({ type: 'object', properties: {}, onlyWith: { a: { b: [true] } } });
    expect(made).to.deep.equal({ type: 'object', properties: {} });
  });

  it('list the spellings of a choice, and leave colours to their description', () => {
    expect(property({ type: 'string', choice: { png: [], jpg: ['jpeg'] } })).to.deep.equal({
      type: 'string',
      enum: ['png', 'jpg', 'jpeg'],
    });
    for (const color of [true, { auto: true }])
      expect(property({ type: 'string', color, drawable: true, encodable: true })).to.deep.equal({
        type: 'string',
      });
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
