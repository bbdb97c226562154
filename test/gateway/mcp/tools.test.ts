import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import {
  type HelperTool,
  inputSchema,
  modernSchema,
  outputSchema,
  toolNames,
  toolsOf,
} from '../../../gateway/mcp/tools.js';
import { loadRegistry } from '../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../gateway/plugins/paths.js';
import type { Helper } from '../../../gateway/plugins/registry.js';
import { describeDeclaration } from '../../../schemas/declared-helper.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { fixture } from '../../fixtures.js';

const folders = ['good', 'alternatives', 'agents'].map((name) => fixture(`plugins/${name}`));

/** Keywords that hold a list of types, and those that only plugins know. */
const unread = /"type":\[|"(?:choice|fraction|drawable|color)":(?:true|\{"[a-z]+":\[)|"definitions"/;

describe('what agents are told of helpers', () => {
  const ajv = new Ajv2020({ strict: false, code: { optimize: false } });
  let tools: HelperTool[];

  before(async () => {
    tools = [...toolsOf(await loadRegistry([builtinPlugins, ...folders], createVocabulary())).values()];
  });

  it('is one object schema each that any validator of 2020-12 reads', () => {
    expect(tools.length).to.be.above(8);
    const strict = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
    for (const { definition } of tools) {
      const { name, inputSchema, outputSchema } = definition;
      for (const schema of [inputSchema, ...(outputSchema ? [outputSchema] : [])]) {
        expect(schema.type, name).to.equal('object');
        expect(JSON.stringify(schema), name).not.to.match(unread);
        strict.compile(schema);
      }
    }
  }).timeout(30_000);

  it('takes the examples of every helper', () => {
    let tried = 0;
    for (const { helper, definition } of tools) {
      const isValid = ajv.compile(definition.inputSchema);
      for (const { input } of helper.declaration.examples) {
        const urls = helper.declaration.files.map(({ parameter }) => [
          parameter,
          'https://example.com/a.png',
        ]);
        expect(isValid({ ...Object.fromEntries(urls), ...input }), JSON.stringify(isValid.errors)).to.equal(
          true,
        );
        tried += 1;
      }
    }
    expect(tried).to.be.above(8);
  });

  it('refuses a name that no parameter has', () => {
    for (const { definition } of tools) {
      const isValid = ajv.compile({ ...definition.inputSchema, required: [] });
      expect(isValid({ dryrun: true }), definition.name).to.equal(true);
      expect(isValid({ nonsense: 1 }), definition.name).to.equal(false);
    }
  });
});

describe('names of tools', () => {
  it('are ids with _ for /, and keep hyphens and dots', () => {
    const ids = ['media/add-border', 'hello', 'a/b/c.d'];
    expect([...toolNames(ids).values()].sort()).to.deep.equal(['a_b_c.d', 'hello', 'media_add-border']);
  });

  it('differ where two ids come to the same one, whatever order they are found in', () => {
    const names = toolNames(['a_b', 'a/b']);
    expect(names.get('a/b')).to.equal('a_b');
    expect(names.get('a_b')).to.match(/^a_b\.[0-9a-f]{8}$/);
    expect([...toolNames(['a/b', 'a_b'])].sort()).to.deep.equal([...names].sort());
  });

  it('never take the plain name of another helper', () => {
    const [, made = ''] = [...toolNames(['a/b', 'a_b']).values()];
    const names = toolNames(['a/b', 'a_b', made]);
    expect(names.get(made)).to.equal(made);
    expect(new Set(names.values()).size).to.equal(3);
  });

  it('have at most 128 characters', () => {
    const long = `${'a'.repeat(60)}/${'b'.repeat(60)}/c`;
    const names = toolNames([`${long}/one-more`, `${long}/two-more`]);
    const lengths = [...names.values()].map(({ length }) => length);
    expect(Math.max(...lengths)).to.be.at.most(128);
    expect(new Set(names.values()).size).to.equal(2);
  });
});

function helperOf(own: Record<string, unknown>): Helper {
  const declaration = describeDeclaration({
    summary: 'x',
    input: { type: 'object', properties: {} },
    handler: () => ({}),
    ...own,
  });
  const parameters = compileParameters(createVocabulary(), declaration);
  return { id: 'a/b', file: '', url: '', declaration, parameters };
}

describe('the schema of a tool', () => {
  it('asks for files by their urls, and for those that are required', () => {
    const files = { logo: { kind: 'image', description: 'The sign.' } };
    const { properties, required } = inputSchema(helperOf({ source: 'image', files }));
    expect(required).to.deep.equal(['url']);
    expect(Object.keys(properties as object)).to.deep.equal(['url', 'logo', 'dryrun']);
    const { description } = (properties as Record<string, { description: string }>).logo ?? {};
    expect(description).to.equal('The sign. Public https address that the file is fetched from.');
  });

  it('closes what is nested, as it is judged', () => {
    const size = { type: 'object', properties: { w: { type: 'integer', maximum: 9 } } };
    const { properties } = inputSchema(helperOf({ input: { type: 'object', properties: { size } } }));
    expect((properties as Record<string, object>).size).to.include({ additionalProperties: false });
  });

  it('has no alternatives at its root', () => {
    const properties = { a: { type: 'string', maxLength: 9 }, b: { type: 'string', maxLength: 9 } };
    const anyOf = [{ required: ['a'] }, { required: ['b'] }];
    const schema = inputSchema(helperOf({ input: { type: 'object', properties, anyOf } }));
    expect(schema).not.to.have.property('anyOf');
    expect(Object.keys(schema.properties as object)).to.deep.equal(['a', 'b', 'dryrun']);
  });

  it('says of what is answered that a dry run may be', () => {
    const output = {
      type: 'object',
      properties: { at: { $ref: '#/definitions/at' } },
      definitions: { at: { type: 'integer' } },
    };
    const { type, anyOf, $defs } = outputSchema(helperOf({ output }));
    expect(type).to.equal('object');
    // Its data, a dry run's, and what stands for a file.
    expect(anyOf).to.have.length(3);
    expect(Object.keys($defs as object)).to.have.length(1);
    expect(outputSchema(helperOf({ output, dryrun: 'run' })).anyOf).to.have.length(2);
  });
});

describe('schemas for agents', () => {
  const bounds = { minimum: 4, maximum: 90 };
  const measure = (more: object) => ({ type: ['integer', 'string'], measure: { ...bounds, ...more } });
  const pixels = { type: 'integer', ...bounds };
  const half = { type: ['number', 'string'], fraction: true, default: 0.5 };
  const percent = { type: 'string', description: 'Per cent such as "5%", or auto.' };
  const types = { anyOf: [{ type: 'string' }, { type: 'null' }] };

  for (const [what, schema, expected] of [
    ['several types', half, { anyOf: [{ type: 'number' }, { type: 'string' }], default: 0.5 }],
    [
      'null',
      { type: 'integer', nullable: true, minimum: 1 },
      { anyOf: [{ type: 'integer' }, { type: 'null' }], minimum: 1 },
    ],
    [
      'types beside alternatives',
      { type: ['string', 'null'], anyOf: [{ maxLength: 3 }] },
      { anyOf: [{ maxLength: 3 }], allOf: [types] },
    ],
    ['a measure', { ...measure({}), default: 9 }, { ...pixels, default: 9 }],
    ['a measure or auto', measure({ auto: true }), { anyOf: [pixels, { type: 'string', enum: ['auto'] }] }],
    [
      'a measure in per cent',
      { ...measure({ percent: true, auto: true }), nullable: true },
      { anyOf: [pixels, percent, { type: 'null' }] },
    ],
    [
      'a choice',
      { type: 'string', choice: { png: [], jpg: ['jpeg'] } },
      { type: 'string', enum: ['png', 'jpg', 'jpeg'] },
    ],
    ['a colour', { type: 'string', color: true, drawable: true, encodable: true }, { type: 'string' }],
    ['a colour or auto', { type: 'string', color: { auto: true } }, { type: 'string' }],
  ] as const) {
    it(`write in plain keywords: ${what}`, () => {
      const { properties } = modernSchema({ type: 'object', properties: { it: schema } });
      expect((properties as { it: object }).it).to.deep.equal(expected);
    });
  }

  it('leave onlyWith to descriptions', () => {
    const schema = { type: 'object', properties: {} };
    expect(modernSchema({ ...schema, onlyWith: { a: { b: [true] } } })).to.deep.equal(schema);
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
    const either = { type: 'object', oneOf: [branch('a'), branch('b')] };
    const text = JSON.stringify(modernSchema({ type: 'object', properties: { either } }));
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
