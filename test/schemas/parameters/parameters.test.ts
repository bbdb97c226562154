import { expect } from 'chai';
import fc from 'fast-check';
import { sourceField } from '../../../schemas/declared-helper.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { compileParameters, type ParameterDeclaration } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { lateCompileTests } from './late-compile.js';

const real = { dryrun: false };
const dry = { dryrun: true };

const input = {
  type: 'object',
  required: ['text'],
  properties: {
    text: { type: 'string', minLength: 1, maxLength: 10 },
    width: { type: 'integer', minimum: 0, maximum: 5000, default: 20 },
    color: { type: 'string', color: true, maxLength: 100, default: 'black' },
    keep: { type: 'array', items: { type: 'string', maxLength: 3 } },
    size: {
      type: 'object',
      additionalProperties: false,
      properties: { unit: { type: 'string', choice: { px: ['pixel'] } } },
    },
  },
} as const;

function checker(declaration: Partial<ParameterDeclaration> = {}) {
  return compileParameters(createVocabulary(), { input, ...declaration });
}

describe('checking parameters', () => {
  const { check } = checker();

  it('gives defaults and normal forms in a fresh object and leaves the caller’s alone', () => {
    const sent = { text: 'a', color: 'Purple', size: { unit: 'PIXEL' }, dryrun: false };
    const before = structuredClone(sent);
    expect(check(sent, real)).to.deep.equal({
      input: { text: 'a', color: '#800080', size: { unit: 'px' }, width: 20 },
      problems: [],
    });
    expect(sent).to.deep.equal(before);
  });

  it('does not coerce', () => {
    expect(check({ text: 'a', width: '5', dryrun: 'true' }, real).problems).to.deep.equal([
      { field: 'width', problem: 'must be an integer from 0 to 5000, but is the string "5"' },
      { field: 'dryrun', problem: 'must be true or false, but is the string "true"' },
    ]);
  });

  it('names every problem at once, once each', () => {
    const sent = {
      text: '',
      width: 5001,
      color: 'nope',
      keep: ['a', 'long', 7],
      size: { unit: 'km', x: 1 },
      widht: 1,
    };
    const fields = check(sent, real).problems.map(({ field }) => field);
    const inside = ['keep.1', 'keep.2', 'size.unit', 'size.x'];
    expect(fields).to.have.members(['text', 'width', 'color', ...inside, 'widht']);
  });

  it('refuses null, even where the parameter may be left out', () => {
    expect(check({ text: 'a', width: null }, real).problems).to.deep.equal([
      { field: 'width', problem: 'must be an integer from 0 to 5000, but is null' },
    ]);
  });

  it('refuses numbers that JSON cannot say', () => {
    for (const width of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(check({ text: 'a', width }, real).problems).to.have.length(1);
    }
  });

  it('asks for what is required, but not in a dry run', () => {
    expect(check({}, real).problems).to.deep.equal([
      { field: 'text', problem: 'is required: a string of 1 to 10 characters' },
    ]);
    expect(check({ dryrun: true }, dry)).to.deep.equal({
      input: { width: 20, color: '#000000' },
      problems: [],
    });
    expect(check({ text: '' }, dry).problems).to.have.length(1);
  });

  it('says which parameter was meant, or which there are', () => {
    expect(check({ text: 'a', colour: 'red' }, real).problems[0]?.problem).to.contain(
      'did you mean "color"?',
    );
    expect(check({ text: 'a', zzz: 1 }, real).problems[0]?.problem).to.contain('it takes text, width, color');
  });

  it('says where a part of a list or an object belongs, and not what else it may be meant for', () => {
    const problem = (name: string) => check({ text: 'a', [name]: 1 }, real).problems[0]?.problem;
    expect(problem('keep[]')).to.contain('what is inside "keep" is sent within it, as one JSON value');
    expect(problem('keep.0')).to.equal(problem('keep[]'));
    expect(problem('width.x')).to.contain('did you mean "width"?');
  });

  it('refuses an upload for a helper without files', () => {
    expect(check({ text: 'a' }, { dryrun: false, uploaded: ['file'] }).problems[0]?.field).to.equal('file');
  });

  it('treats __proto__ and its like as any unknown name', () => {
    const sent = JSON.parse('{"text":"a","__proto__":{"width":1},"constructor":1,"toString":2}');
    const { input: got, problems } = check(sent, real);
    expect(problems.map(({ field }) => field)).to.deep.equal(['__proto__', 'constructor', 'toString']);
    expect(Object.getPrototypeOf(got)).to.equal(Object.prototype);
    expect(got.width).to.equal(20);
    expect(check(JSON.parse('{"text":"a","size":{"__proto__":{}}}'), real).problems[0]?.field).to.equal(
      'size',
    );
  });

  it('answers with few problems, however many were sent', () => {
    const unknown = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 1]));
    const { problems } = check({ text: 'a', ...unknown }, real);
    expect(problems).to.have.length(51);
    expect(problems.at(-1)).to.deep.equal({ field: '*', problem: 'has 9950 more problems' });

    const keep = Array.from({ length: 10_000 }, () => 'long');
    expect(check({ text: 'a', keep }, real).problems).to.have.length(51);
    expect(check({ text: 'a', keep: [...keep, ''] }, real).problems[0]?.problem).to.contain(
      'more than 10000',
    );
  });

  it('does not let a pattern see what is too long', () => {
    const properties = { word: { type: 'string', maxLength: 20, pattern: '^(a+)+$' } };
    const slow = checker({ input: { type: 'object', properties } });
    expect(slow.check({ word: `${'a'.repeat(60)}!` }, real).problems[0]?.problem).to.contain(
      'more than 40 characters',
    );
  });

  it('does not compare the items of a list that is too long', () => {
    const properties = { list: { type: 'array', maxItems: 2, uniqueItems: true } };
    const slow = checker({ input: { type: 'object', properties } });
    const list = Array.from({ length: 9000 }, (_, index) => ({ index }));
    expect(slow.check({ list }, real).problems).to.deep.equal([
      { field: 'list', problem: 'must be a list of at most 2 items, all different, but has 9000' },
    ]);
  });

  it('never throws and never changes its argument', () => {
    const name = fc.constantFrom('text', 'width', 'color', 'keep', 'size', 'dryrun', '__proto__', 'url');
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(name, fc.string()), fc.jsonValue()),
        fc.boolean(),
        fc.boolean(),
        (sent, dryrun, hasFile) => {
          const before = JSON.stringify(sent);
          const { problems } = check(sent, { dryrun, uploaded: hasFile ? ['file'] : [] });
          expect(JSON.stringify(sent)).to.equal(before);
          for (const { field, problem } of problems) expect([field, problem]).to.not.include('');
        },
      ),
      { numRuns: 400 },
    );
  });

  it('accepts its own answer', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('red', '#abc', 'pale blue'),
        fc.integer({ min: 0, max: 5000 }),
        (color, width) => {
          const first = check({ text: 'a', color, width }, real).input;
          expect(check(first, real)).to.deep.equal({ input: first, problems: [] });
        },
      ),
    );
  });
});

describe('compiling parameters', () => {
  const withProperty = (a: JsonSchema) => ({ input: { type: 'object', properties: { a } } });
  for (const [what, declaration, reason] of [
    ['an unknown keyword', withProperty({ maxLen: 1 }), 'unknown keyword: "maxLen"'],
    ['an unknown type', withProperty({ type: 'strin' }), 'input is not a valid schema'],
    [
      'an unknown required name',
      { input: { type: 'object', required: ['b'] } },
      'b is required but not a property',
    ],
    [
      'a default that the schema refuses',
      withProperty({ type: 'string', color: true, default: 'nope' }),
      'a default is refused by its own schema: a must be',
    ],
    [
      'an example that the schema refuses',
      { input, examples: [{ input: { text: 'a' } }, { summary: 'wide', input: { width: 'x' } }] },
      'example 2 ("wide") is refused by its own schema: text is required: a string of 1 to 10 characters; width must be',
    ],
  ] as const) {
    it(`stops at ${what}`, () => {
      expect(() => checker(declaration as ParameterDeclaration)).to.throw(reason);
    });
  }

  it('needs no url in the examples of an image helper', () => {
    const examples = [
      { input: { text: 'a' } },
      { input: { text: 'a', url: 'https://a.example/b' } },
      { input: { dryrun: true } },
    ];
    expect(() => checker({ files: [sourceField], examples })).not.to.throw();
  });

  it('closes a schema that says it is open, and accepts the same $id twice', () => {
    const open = { ...input, $id: 'urn:x', additionalProperties: true };
    const ajv = createVocabulary();
    compileParameters(ajv, { input: open });
    expect(compileParameters(ajv, { input: open }).check({ text: 'a', x: 1 }, real).problems).to.have.length(
      1,
    );
  });
});

lateCompileTests(100);

describe('schemas with alternatives', () => {
  const one = { type: 'string' };
  const branches = [{ required: ['a'] }, { required: ['b'] }];

  for (const keyword of ['anyOf', 'oneOf']) {
    it(`name the parameters that ${keyword} asks for, and ask for none in a dry run`, () => {
      const { check } = compileParameters(createVocabulary(), {
        input: { type: 'object', properties: { a: one, b: one }, [keyword]: branches },
      });
      expect(check({}, real).problems).to.deep.equal([
        { field: 'a', problem: 'is required, or in its place b' },
      ]);
      expect(check({ b: 'x' }, real).problems).to.deep.equal([]);
      expect(check({}, dry).problems).to.deep.equal([]);
    });
  }

  it('are one problem of one parameter', () => {
    const { check } = compileParameters(createVocabulary(), {
      input: {
        type: 'object',
        properties: { a: { anyOf: [{ type: 'integer', minimum: 3 }, { type: 'boolean' }] } },
      },
    });
    expect(check({ a: 'x' }, real).problems).to.deep.equal([
      { field: 'a', problem: 'must be an integer of at least 3 or true or false, but is the string "x"' },
    ]);
  });

  it('keep the conditions of if', () => {
    const { check } = compileParameters(createVocabulary(), {
      input: {
        type: 'object',
        properties: { a: one, b: one },
        if: { required: ['a'] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ['b'] },
      },
    });
    expect(check({ a: 'x' }, real).problems).to.deep.equal([{ field: 'b', problem: 'is required' }]);
    expect(check({ a: 'x' }, dry).problems).to.deep.equal([]);
  });
});

function problems(input: JsonSchema, given: Record<string, unknown>): string[] {
  const { check } = compileParameters(createVocabulary(), { input: { type: 'object', ...input } });
  return check(given, real).problems.map(({ field, problem }) => `${field} ${problem}`);
}

describe('the problems of rules for a whole object', () => {
  const pair = { a: { type: 'integer' }, b: { type: 'integer' } };
  const both = { required: ['a', 'b'], properties: { a: true, b: true } };
  const tooFew = 'must have at least 2 of its fields, but has 1';

  for (const [what, rule, given, problem] of [
    ['names that may not be together', { not: both }, { a: 1, b: 2 }, 'must not have a and b together'],
    [
      'a name that may not be',
      { not: { required: ['b'], properties: { b: true } } },
      { b: 2 },
      'must not have b',
    ],
    [
      'a rule that is hard to put in words',
      { not: { properties: { a: { const: 1 } }, required: ['a'] } },
      { a: 1 },
      'is a combination that is not allowed',
    ],
    ['too few names', { minProperties: 2 }, { a: 1 }, tooFew],
  ] as [string, JsonSchema, Record<string, unknown>, string][]) {
    it(`says of ${what} which they are, outside and inside of a parameter`, () => {
      expect(problems({ properties: pair, ...rule }, given)).to.deep.equal([`* ${problem}`]);
      const inner = { type: 'object', properties: pair, ...rule };
      expect(problems({ properties: { o: inner } }, { o: given })).to.deep.equal([`o ${problem}`]);
    });
  }
});

describe('hints', () => {
  it('are looked for as long as that is cheap', () => {
    const names = Array.from({ length: 2000 }, (_, at) => `value-number-${at}`);
    const input = { properties: { list: { type: 'array', items: { type: 'string', enum: names } } } };
    const found = problems(input, { list: Array.from({ length: 50 }, (_, at) => `value-numbr-${at}`) });
    expect(found).to.have.length(50);
    expect(found.filter((problem) => problem.includes('did you mean'))).to.have.length(3);
    expect(found.join('').length).to.be.below(150_000);
  });

  it('stand in the place of dozens of values, wherever in the input these are', () => {
    const values = Array.from({ length: 60 }, (_, at) => `value-${at}`);
    const choice = Object.fromEntries(values.map((value) => [value, []]));
    const some = 'one of value-0, value-1, value-2, value-3, value-4 and 55 more';
    const given = (property: JsonSchema, value: unknown) =>
      problems({ required: ['a'], properties: { a: property } }, value === undefined ? {} : { a: value });
    for (const property of [{ enum: values }, { type: 'string', choice }] as JsonSchema[]) {
      expect(given(property, 'value59')).to.deep.equal([
        `a must be ${some}, but is the string "value59"; did you mean "value-59"?`,
      ]);
    }
    const property = { type: 'string', enum: values };
    expect(given(property, 7)).to.deep.equal([`a must be ${some}, but is the number 7`]);
    expect(given(property, null)).to.deep.equal([`a must be ${some}, but is null`]);
    expect(given(property, undefined)).to.deep.equal([`a is required: ${some}`]);
    expect(given({ type: 'array', items: property }, ['x'])).to.deep.equal([
      `a.0 must be ${some}, but is the string "x"`,
    ]);
  });

  it('are not needed where a person sees all values', () => {
    const values = Array.from({ length: 12 }, (_, at) => `v${at}`);
    expect(problems({ properties: { a: { enum: values } } }, { a: 'x' })).to.deep.equal([
      `a must be one of ${values.join(', ')}, but is the string "x"`,
    ]);
  });
});
