import { expect } from 'chai';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

function refusal(input: JsonSchema): string {
  try {
    compileParameters(createVocabulary(), { input: { type: 'object', ...input } });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

function faultsOf(input: JsonSchema): string[] {
  const [head, ...rest] = refusal(input).split(/^input is not a valid schema:\s+/);
  expect(head).to.equal('');
  return rest.join('').split('\n  input');
}

describe('the faults of a schema', () => {
  it('are reported all at once, each with its place', () => {
    const message = refusal({
      properties: {
        width: { type: 'integer', minimum: 'x' },
        height: { type: 'integer', minimun: 0, maximun: 3 },
        unit: { type: 'strin' },
        text: { minLength: 1 },
        mail: { type: 'string', pattern: '(' },
        tone: { type: 'string', color: 3 },
        list: {
          type: 'array',
          items: { type: 'object', properties: { deep: { type: 'string', maximum: 3 } } },
        },
        any: { anyOf: [{ type: 'string' }, { type: 'number', minimum: '1' }] },
        link: { $ref: '#/definitions/nothing' },
        twice: { type: 'string', choice: { a: ['b'], b: [] } },
      },
      required: ['lost'],
    });
    for (const fault of [
      'input.properties.width.minimum must be a number, but is the string "x"',
      'input.properties.height.minimun is an unknown keyword: "minimun"; did you mean "minimum"?',
      'input.properties.height.maximun is an unknown keyword: "maximun"; did you mean "maximum"?',
      'input.properties.unit.type must be one of array, boolean, integer, null, number, object, string, but is "strin"; did you mean "string"?',
      'input.properties.text.minLength needs "type": "string" beside it',
      'input.properties.mail.pattern is refused: Invalid regular expression',
      'input.properties.tone.color must be true or an object with auto, but is the number 3',
      'input.properties.list.items.properties.deep.maximum needs "type": "number" beside it',
      'input.properties.any.anyOf.1.minimum must be a number, but is the string "1"',
      'input.properties.link.$ref points to nothing: "#/definitions/nothing"',
      'input.properties.twice.choice is refused: choice: "b" is listed twice',
      'input.required: lost is required but not a property',
    ]) {
      expect(message).to.contain(fault);
    }
    expect(message.match(/input\./g)).to.have.length(12);
  });

  for (const [what, input, path] of [
    ['an unknown format', { properties: { a: { type: 'string', format: 'emial' } } }, '.properties.a.format'],
    ['an if alone', { properties: { a: { if: { const: 1 } } } }, '.properties.a.if'],
    ['a tuple without an end', { properties: { a: { type: 'array', items: [{}] } } }, '.properties.a.items'],
    ['an empty enum', { properties: { a: { enum: [] } } }, '.properties.a.enum'],
    [
      'properties of a wrong type',
      { properties: { a: { type: 'object', properties: 3 } } },
      '.properties.a.properties',
    ],
    ['a broken reference', { properties: { a: { $ref: '#/definitions/%zz' } } }, ''],
    ['alternatives of a wrong type', { properties: { a: { oneOf: 3, anyOf: [] } } }, '.properties.a.anyOf'],
  ] as [string, JsonSchema, string][]) {
    it(`have a place: ${what}`, () => {
      expect(faultsOf(input)[0]).to.contain(path === '' ? '' : `input${path} `);
    });
  }

  it('suggest the place of a property that was written among the keywords', () => {
    const text = { type: 'string' };
    expect(refusal({ text })).to.include(
      'unknown keyword: "text"; did you mean input.properties.text? (#/text)',
    );
    expect(refusal({ properties: { size: { type: 'object', wide: text } } })).to.include(
      'unknown keyword: "wide"; did you mean input.properties.size.properties.wide?',
    );
    expect(refusal({ properties: {}, text })).to.include('unknown keyword: "text" (#/text)');
  });

  it('say that there are no formats', () => {
    const mail = { type: 'string', format: 'email' };
    expect(refusal({ properties: { mail } })).to.include('"email"; none is known, write a pattern');
  });

  it('are looked for in the types that hold around', () => {
    const typed = { type: 'object', properties: { a: { type: 'string', allOf: [{ minLength: 1 }] } } };
    expect(refusal(typed)).to.equal('');
    expect(faultsOf({ properties: { a: { type: 'string', allOf: [{ minLenght: 1 }] } } })).to.deep.equal([
      'input.properties.a.allOf.0.minLenght is an unknown keyword: "minLenght"; did you mean "minLength"? (#/properties/a/allOf/0/minLenght)',
    ]);
  });

  it('are looked for where a schema refers to itself', () => {
    const list = { type: 'array', items: { $ref: '#/definitions/list' } };
    const json = {
      anyOf: [
        { type: ['string', 'number', 'boolean', 'null'] },
        { type: 'array', items: { $ref: '#/definitions/json' } },
        { type: 'object', additionalProperties: { $ref: '#/definitions/json' } },
      ],
    };
    const properties = { a: { $ref: '#/definitions/list' }, b: { $ref: '#/definitions/json' } };
    expect(refusal({ definitions: { list, json }, properties })).to.equal('');
  });

  for (const [what, definition, path] of [
    ['itself', { $ref: '#/definitions/a' }, '.$ref'],
    ['itself in a list of demands', { allOf: [{ $ref: '#/definitions/a' }] }, '.allOf.0.$ref'],
    ['itself by another', { anyOf: [{ $ref: '#/definitions/b' }] }, '.anyOf.0.$ref'],
  ] as [string, JsonSchema, string][]) {
    it(`name a reference that never ends: ${what}`, () => {
      const definitions = { a: definition, b: { $ref: '#/definitions/a' } };
      const message = refusal({ definitions, properties: { a: { $ref: '#/definitions/a' }, b: { typ: 1 } } });
      expect(message).to.contain(`input.definitions.a${path} leads back to itself`);
      expect(message).to.contain('input.properties.b.typ is an unknown keyword');
    });
  }

  for (const [$ref, problem] of [
    ['#', 'points to the whole input'],
    ['#/properties/c', 'points to nothing: "#/properties/c"'],
    ['https://example.com/a.json', 'points to nothing: "https://example.com/a.json"'],
    ['other#/definitions/a', 'points to nothing: "other#/definitions/a"'],
  ]) {
    it(`name each reference that leads nowhere: ${$ref}`, () => {
      const faults = faultsOf({ properties: { a: { $ref }, b: { type: 'array', items: { $ref } } } });
      expect(faults).to.have.length(2);
      expect(faults[0]).to.contain(`input.properties.a.$ref ${problem}`);
      expect(faults[1]).to.contain(`.properties.b.items.$ref ${problem}`);
    });
  }

  it('are reported of what is no JSON, before it is walked without end', () => {
    const node: JsonSchema = { type: 'object', properties: { kid: {}, now: { default: () => 1 } } };
    (node.properties as JsonSchema).kid = node;
    expect(faultsOf({ properties: { node } })).to.deep.equal([
      'input.properties.node.properties.kid holds itself; write it once under "definitions", and a "$ref" to it here',
      '.properties.node.properties.now.default is a function; a schema is plain JSON',
    ]);
  });

  it('are all reported, however many', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [`p${at}`, { type: 'string', maxLenght: 1 }]),
    );
    expect(faultsOf({ properties })).to.have.length(50);
  });
});
