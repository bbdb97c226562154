import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { type HelperTool, toolsOf } from '../../../gateway/mcp/tools.js';
import { loadRegistry } from '../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../gateway/plugins/paths.js';
import type { Helper } from '../../../gateway/plugins/registry.js';
import { describeDeclaration } from '../../../schemas/declared-helper.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { fixture } from '../../fixtures.js';

/** Keywords that hold a list of types, and those that only plugins know. */
const unread = /"type":\[|"(?:choice|fraction|drawable|color)":(?:true|\{"[a-z]+":\[)|"definitions"/;

describe('the tools of shipped and outside helpers', () => {
  const ajv = new Ajv2020({ strict: false, code: { optimize: false } });
  let tools: HelperTool[];

  before(async () => {
    const folders = ['good', 'alternatives', 'agents'].map((name) => fixture(`plugins/${name}`));
    tools = [...toolsOf(await loadRegistry([builtinPlugins, ...folders], createVocabulary())).values()];
  });

  it('have one object schema each that any validator of 2020-12 reads', () => {
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

  it('accept the examples of every helper, and no name that no parameter has', () => {
    for (const { helper, definition } of tools) {
      const { examples, files } = helper.declaration;
      const urls = Object.fromEntries(files.map(({ parameter }) => [parameter, 'https://example.com/a.png']));
      const isValid = ajv.compile(definition.inputSchema);
      for (const { input } of examples)
        expect(isValid({ ...urls, ...input }), JSON.stringify(isValid.errors)).to.equal(true);
      const isPart = ajv.compile({ ...definition.inputSchema, required: [] });
      const allowed = [{ dryrun: true }, { nonsense: 1 }].map((each) => isPart(each));
      expect(allowed, definition.name).to.deep.equal([true, false]);
    }
  });
});

function helperOf(own: Record<string, unknown>): Helper {
  const input = { type: 'object', properties: {} };
  const declaration = describeDeclaration({ summary: 'x', input, handler: () => ({}), ...own });
  const parameters = compileParameters(createVocabulary(), declaration);
  return { id: 'a/b', file: '', url: '', declaration, parameters };
}

describe('names of tools', () => {
  const namesOf = (...ids: string[]) => {
    const tools = toolsOf(new Map(ids.map((id) => [id, { ...helperOf({}), id }])));
    return new Map([...tools].map(([name, { helper }]) => [helper.id, name]));
  };

  it('are ids with _ for /, and keep hyphens and dots', () => {
    const names = namesOf('media/add-border', 'hello', 'a/b/c.d');
    expect([...names.values()]).to.deep.equal(['a_b_c.d', 'hello', 'media_add-border']);
  });

  it('differ where two ids come to the same one, whatever order they are found in', () => {
    const names = namesOf('a_b', 'a/b');
    expect(names.get('a/b')).to.equal('a_b');
    const made = names.get('a_b') ?? '';
    expect(made).to.match(/^a_b\.[0-9a-f]{8}$/);
    expect(namesOf('a/b', 'a_b')).to.deep.equal(names);
    // Never the plain name of another helper.
    const more = namesOf('a/b', 'a_b', made);
    expect(more.get(made)).to.equal(made);
    expect(new Set(more.values()).size).to.equal(3);
  });

  it('have at most 128 characters', () => {
    const long = `${'a'.repeat(60)}/${'b'.repeat(60)}/c`;
    const names = [...namesOf(`${long}/one-more`, `${long}/two-more`).values()];
    expect(Math.max(...names.map(({ length }) => length))).to.be.at.most(128);
    expect(new Set(names).size).to.equal(2);
  });
});

describe('the schema of a tool', () => {
  /** Both schemas of a helper's tool. */
  const schemasOf = (own: Record<string, unknown>) => {
    const [tool] = toolsOf(new Map([['a/b', helperOf(own)]])).values();
    return tool?.definition as unknown as Record<'inputSchema' | 'outputSchema', JsonSchema>;
  };
  type Nested = Record<string, Record<string, JsonSchema>>;
  const inputOf = (input: JsonSchema) =>
    schemasOf({ input: { type: 'object', ...input } }).inputSchema as Nested;

  it('asks for files by their urls, and for those that are required', () => {
    const files = { logo: { kind: 'image', description: 'The sign.' } };
    const { properties, required } = schemasOf({ source: 'image', files }).inputSchema;
    expect(required).to.deep.equal(['url']);
    expect(Object.keys(properties as object)).to.deep.equal(['url', 'logo', 'dryrun']);
    const description = 'The sign. Public https address that the file is fetched from.';
    expect(properties).to.have.nested.property('logo.description', description);
  });

  it('has no alternatives at its root', () => {
    const properties = { a: { type: 'string', maxLength: 9 }, b: { type: 'string', maxLength: 9 } };
    const schema = inputOf({ properties, anyOf: [{ required: ['a'] }, { required: ['b'] }] });
    expect(schema).not.to.have.property('anyOf');
    expect(Object.keys(schema.properties ?? {})).to.deep.equal(['a', 'b', 'dryrun']);
  });

  it('says of what is answered that a dry run may be', () => {
    const properties = { at: { $ref: '#/definitions/at' } };
    const output = { type: 'object', properties, definitions: { at: { type: 'integer' } } };
    const { type, anyOf, $defs } = schemasOf({ output }).outputSchema;
    expect(type).to.equal('object');
    // Its data, a dry run's, and what stands for a file.
    expect(anyOf).to.have.length(3);
    expect(Object.keys($defs as object)).to.have.length(1);
    expect(schemasOf({ output, dryrun: 'run' }).outputSchema.anyOf).to.have.length(2);
  });

  const bounds = { minimum: 4, maximum: 90 };
  const pixels = { type: 'integer', ...bounds };
  const measure = (more: object) => ({ type: ['integer', 'string'], measure: { ...bounds, ...more } });
  const measured = { ...measure({}), default: 9 };
  const percent = { type: 'string', description: 'Per cent such as "5%", or auto.' };
  const none = { type: 'null' };
  const string = { type: 'string' };
  const integer = { type: 'integer' };
  const orNull = { anyOf: [string, none] };
  const short = { anyOf: [{ maxLength: 3 }] };

  for (const [schema, expected] of [
    [{ type: ['number', 'string'], fraction: true }, { anyOf: [{ type: 'number' }, { type: 'string' }] }],
    [
      { ...integer, nullable: true, minimum: 1 },
      { anyOf: [integer, none], minimum: 1 },
    ],
    [
      { type: ['string', 'null'], ...short },
      { ...short, allOf: [orNull] },
    ],
    [measured, { ...pixels, default: 9 }],
    [measure({ auto: true }), { anyOf: [pixels, { type: 'string', enum: ['auto'] }] }],
    [{ ...measure({ percent: true, auto: true }), nullable: true }, { anyOf: [pixels, percent, none] }],
    [
      { ...string, choice: { png: [], jpg: ['jpeg'] } },
      { ...string, enum: ['png', 'jpg', 'jpeg'] },
    ],
    [{ ...string, color: true, drawable: true, encodable: true }, string],
    [{ ...string, color: { auto: true } }, string],
  ] as const) {
    it(`writes in plain keywords: ${Object.keys(schema)}`, () => {
      // By the names of keywords, which are parameters here.
      for (const name of ['it', 'color', 'type'])
        expect(inputOf({ properties: { [name]: schema } }).properties?.[name]).to.deep.equal(expected);
    });
  }

  it('closes what is nested, and has no discriminator, which only OpenAPI knows', () => {
    const shape = (kind: string) => ({
      type: 'object',
      required: ['kind'],
      properties: { kind: { const: kind } },
    });
    const made = inputOf({ properties: { it: { type: 'object', oneOf: [shape('a'), shape('b')] } } });
    expect(made.properties?.it).to.have.keys('type', 'oneOf');
    for (const kind of ['a', 'b'])
      expect(made.$defs?.[`of.kind.${kind}`]).to.include({ additionalProperties: false });
  });

  it('leaves onlyWith to descriptions', () => {
    const properties = { a: { type: 'string' }, b: { type: 'boolean' } };
    expect(inputOf({ properties, onlyWith: { a: { b: [true] } } })).not.to.have.property('onlyWith');
  });

  it('keeps definitions inside, tuples in the new words, and loops', () => {
    const next = { $ref: '#/definitions/node' };
    const items = [{ type: ['string', 'null'] }];
    const pair = { type: 'array', items, minItems: 1, additionalItems: false };
    const node = { type: 'object', properties: { pair, next } };
    const made = inputOf({ properties: { tree: next }, definitions: { node } });
    const [[name = '', found] = []] = Object.entries(made.$defs ?? {});
    const $ref = `#/$defs/${name}`;
    expect(made.properties?.tree).to.deep.equal({ $ref });
    expect(found).to.deep.nested.include({
      ...{ 'properties.next.$ref': $ref, 'properties.pair.items': false },
      'properties.pair.prefixItems': [orNull],
    });
    expect(JSON.stringify(made)).not.to.include('definitions');
  });
});
