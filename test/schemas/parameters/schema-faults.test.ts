import { expect } from 'chai';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { refusalOf } from '../checker.js';

function faultsOf(input: JsonSchema): string[] {
  const [head, ...rest] = refusalOf(input).split(/^input is not a valid schema:\s+/);
  expect(head).to.equal('');
  return rest.join('').split('\n  input');
}

describe('the faults of a schema', () => {
  it('are reported all at once, each with its place', () => {
    const deep = { type: 'string', maximum: 3 };
    const message = refusalOf({
      properties: {
        width: { type: 'integer', minimum: 'x' },
        height: { type: 'integer', minimun: 0, maximun: 3 },
        unit: { type: 'strin' },
        text: { minLength: 1 },
        mail: { type: 'string', pattern: '(' },
        tone: { type: 'string', color: 3 },
        list: { type: 'array', items: { type: 'object', properties: { deep } } },
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

  for (const [what, a, keyword] of [
    ['an unknown format', { type: 'string', format: 'emial' }, 'format'],
    ['an if alone', { if: { const: 1 } }, 'if'],
    ['a tuple without an end', { type: 'array', items: [{}] }, 'items'],
    ['an empty enum', { enum: [] }, 'enum'],
    ['properties that are none', { type: 'object', properties: 3 }, 'properties'],
    ['a broken reference', { $ref: '#/definitions/%zz' }, ''],
    ['alternatives of a wrong type', { oneOf: 3, anyOf: [] }, 'anyOf'],
  ] as [string, JsonSchema, string][]) {
    it(`have a place: ${what}`, () =>
      expect(faultsOf({ properties: { a } })[0]).to.contain(keyword && `input.properties.a.${keyword} `));
  }

  it('suggest the place of a property that was written among the keywords, and say that there are no formats', () => {
    const text = { type: 'string' };
    const size = { type: 'object', wide: text };
    for (const [input, fault] of [
      [{ text }, 'unknown keyword: "text"; did you mean input.properties.text? (#/text)'],
      [{ properties: { size } }, '"wide"; did you mean input.properties.size.properties.wide?'],
      [{ properties: {}, text }, 'unknown keyword: "text" (#/text)'],
      [{ properties: { mail: { ...text, format: 'email' } } }, '"email"; none is known, write a pattern'],
    ] as [JsonSchema, string][]) {
      expect(refusalOf(input)).to.include(fault);
    }
  });

  it('are looked for in the types that hold around', () => {
    const typed = { type: 'object', properties: { a: { type: 'string', allOf: [{ minLength: 1 }] } } };
    expect(refusalOf(typed)).to.equal('');
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
    expect(refusalOf({ definitions: { list, json }, properties })).to.equal('');
  });

  for (const [what, definition, path] of [
    ['itself', { $ref: '#/definitions/a' }, '.$ref'],
    ['itself in a list of demands', { allOf: [{ $ref: '#/definitions/a' }] }, '.allOf.0.$ref'],
    ['itself by another', { anyOf: [{ $ref: '#/definitions/b' }] }, '.anyOf.0.$ref'],
  ] as [string, JsonSchema, string][]) {
    it(`name a reference that never ends: ${what}`, () => {
      const definitions = { a: definition, b: { $ref: '#/definitions/a' } };
      const properties = { a: { $ref: '#/definitions/a' }, b: { typ: 1 } };
      const message = refusalOf({ definitions, properties });
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
});
