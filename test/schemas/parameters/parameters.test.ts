import { expect } from 'chai';
import fc from 'fast-check';
import { sourceField } from '../../../schemas/declared-helper.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { copyJson } from '../../../schemas/parameters/coerce.js';
import { compileOutput } from '../../../schemas/parameters/compile-schema.js';
import { compileParameters, type ParameterDeclaration } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { checkerOf, problemsOf } from '../checker.js';
import { closeNestedPeerTests, lateCompileTests } from './compositions.js';

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

describe('checking parameters', () => {
  const { check, problems } = checkerOf(input);

  it('gives defaults and normal forms in a fresh object and leaves the caller’s alone', () => {
    const sent = { text: 'a', color: 'Purple', size: { unit: 'PIXEL' }, dryrun: false };
    const before = structuredClone(sent);
    const normal = { text: 'a', color: '#800080', size: { unit: 'px' }, width: 20 };
    expect(check(sent)).to.deep.equal({ input: normal, problems: [] });
    expect(sent).to.deep.equal(before);
  });

  const isWrong = 'width must be an integer from 0 to 5000, but is';
  const isText = [`${isWrong} the string "5"`, 'dryrun must be true or false, but is the string "true"'];
  for (const [what, sent, expected] of [
    ['coerces nothing', { text: 'a', width: '5', dryrun: 'true' }, isText],
    ['refuses null, even where it may be left out', { text: 'a', width: null }, [`${isWrong} null`]],
    ['asks for what is required', {}, ['text is required: a string of 1 to 10 characters']],
  ] as const) {
    it(what, () => expect(problems(sent)).to.deep.equal(expected));
  }

  it('requires nothing in a dry run, and validates what is there', () => {
    expect(check(dry, dry)).to.deep.equal({ input: { width: 20, color: '#000000' }, problems: [] });
    expect(problems({ text: '' }, dry)).to.have.length(1);
  });

  it('names every problem at once, once each', () => {
    const size = { unit: 'km', x: 1 };
    const sent = { text: '', width: 5001, color: 'nope', keep: ['a', 'long', 7], size, widht: 1 };
    const inside = ['keep.1', 'keep.2', 'size.unit', 'size.x'];
    const fields = check(sent).problems.map(({ field }) => field);
    expect(fields).to.have.members(['text', 'width', 'color', ...inside, 'widht']);
  });

  it('refuses numbers that JSON cannot say, and an upload for a helper without files', () => {
    for (const width of [Number.NaN, Number.POSITIVE_INFINITY])
      expect(problems({ text: 'a', width })).to.have.length(1);
    expect(problems({ text: 'a' }, { uploaded: ['file'] })[0]).to.match(/^file /);
  });

  it('says of an unknown name what was meant, which there are, or where a part belongs', () => {
    for (const [name, meant] of Object.entries({
      colour: 'did you mean "color"?',
      zzz: 'it takes text, width, color',
      'keep[]': 'what is inside "keep" is sent within it, as one JSON value',
      'keep.0': 'what is inside "keep" is sent within it, as one JSON value',
      'width.x': 'did you mean "width"?',
    })) {
      expect(problems({ text: 'a', [name]: 1 })[0]).to.contain(meant);
    }
  });

  it('treats __proto__ and its like as any unknown name', () => {
    const read = (text: string) => check(JSON.parse(text));
    const got = read('{"text":"a","__proto__":{"width":1},"constructor":1,"toString":2}');
    const fields = got.problems.map(({ field }) => field);
    expect(fields).to.deep.equal(['__proto__', 'constructor', 'toString']);
    expect(Object.getPrototypeOf(got.input)).to.equal(Object.prototype);
    expect(got.input.width).to.equal(20);
    expect(read('{"text":"a","size":{"__proto__":{}}}').problems[0]?.field).to.equal('size');
  });

  it('names a list that is too long before its items', () => {
    const keep = [...Array.from({ length: 10_000 }, () => 'long'), ''];
    expect(problems({ text: 'a', keep })[0]).to.contain('more than 10000');
  });

  it('lets no pattern see what is too long, and compares no items of a list that is', () => {
    const word = { type: 'string', maxLength: 20, pattern: '^(a+)+$' };
    expect(problemsOf(`${'a'.repeat(60)}!`, word)[0]).to.contain('more than 40 characters');
    const items = Array.from({ length: 9000 }, (_, index) => ({ index }));
    const [problem] = problemsOf(items, { type: 'array', maxItems: 2, uniqueItems: true });
    expect(problem).to.equal('v must be a list of at most 2 items, all different, but has 9000');
  });

  it('never throws, never changes its argument, and accepts its own answer', () => {
    const name = fc.constantFrom('text', 'width', 'color', 'keep', 'size', 'dryrun', '__proto__', 'url');
    const sent = fc.dictionary(fc.oneof(name, fc.string()), fc.jsonValue());
    fc.assert(
      fc.property(sent, fc.boolean(), fc.boolean(), (sent, dryrun, hasFile) => {
        const before = JSON.stringify(sent);
        const { problems } = check(sent, { dryrun, uploaded: hasFile ? ['file'] : [] });
        expect(JSON.stringify(sent)).to.equal(before);
        for (const { field, problem } of problems) expect([field, problem]).to.not.include('');
      }),
      { numRuns: 400 },
    );
    const color = fc.constantFrom('red', '#abc', 'pale blue');
    fc.assert(
      fc.property(color, fc.integer({ min: 0, max: 5000 }), (color, width) => {
        const first = check({ text: 'a', color, width }).input;
        expect(check(first)).to.deep.equal({ input: first, problems: [] });
      }),
    );
  });
});

describe('a parameter that is null', () => {
  const shapes = ['circle', 'square'].map((kind) => ({
    type: 'object',
    properties: { kind: { const: kind } },
    required: ['kind', 'r'],
  }));
  const definitions = { size: { type: 'integer', minimum: 1, maximum: 9 }, empty: { type: 'null' } };
  const leaveOut = 'must not be null; leave it out instead';

  for (const [what, schema, problem] of [
    ['where it may be', { type: ['integer', 'null'] }, leaveOut],
    ['in an alternative', { anyOf: [{ $ref: '#/definitions/empty' }, { type: 'integer' }] }, leaveOut],
    ['behind a reference', { $ref: '#/definitions/size' }, 'must be an integer from 1 to 9, but is null'],
    ['with a tag', { oneOf: shapes }, 'must be an object with kind circle or square, but is null'],
  ] as [string, JsonSchema, string][]) {
    it(`names what is allowed, ${what}`, () =>
      expect(problemsOf(null, schema, definitions)).to.deep.equal([`v ${problem}`]));
  }
});

describe('copyJson', () => {
  function problemOf(value: unknown, most?: number): string {
    const copied = copyJson(value, most);
    return 'value' in copied ? 'none' : copied.problem;
  }

  it('gives an equal value that shares nothing', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const copied = copyJson(value);
        if (!JSON.stringify(value).includes('__proto__')) expect(copied).to.deep.equal({ value });
        if ('value' in copied && typeof value === 'object' && value !== null)
          expect(copied.value).not.to.equal(value);
      }),
    );
  });

  it('refuses what is nested so deep that it could end the process, too many elements, and a key __proto__', () => {
    const nested = (levels: number) => {
      let value: unknown = 1;
      for (let level = 0; level < levels; level += 1) value = [value];
      return value;
    };
    expect(problemOf(nested(32))).to.equal('none');
    for (const levels of [33, 100_000]) expect(problemOf(nested(levels))).to.contain('32 levels');
    const many = Array.from({ length: 10_001 }, () => '');
    for (const value of [many, { a: many.slice(0, 9999), b: [1] }])
      expect(problemOf(value)).to.equal('has more than 10000 elements');
    expect(problemOf(many, 20_000)).to.equal('none');
    expect(problemOf(JSON.parse('{"a":[{"__proto__":{"polluted":1}}]}'))).to.contain('__proto__');
  });
});

describe('compiling parameters', () => {
  const compile = (declaration: Partial<ParameterDeclaration> = {}) =>
    compileParameters(createVocabulary(), { input, ...declaration });
  const withProperty = (a: JsonSchema) => ({ input: { type: 'object', properties: { a } } });
  const nope = { type: 'string', color: true, default: 'nope' };
  const examples = [{ input: { text: 'a' } }, { summary: 'wide', input: { width: 'x' } }];

  for (const [what, declaration, reason] of [
    ['an unknown keyword', withProperty({ maxLen: 1 }), 'unknown keyword: "maxLen"'],
    ['an unknown type', withProperty({ type: 'strin' }), 'input is not a valid schema'],
    ['an unknown required name', { input: { type: 'object', required: ['b'] } }, 'b is required but not a'],
    ['a wrong default', withProperty(nope), 'a default is refused by its own schema: a must be'],
    ['a wrong example', { examples }, /^example 2 \("wide"\) is refused .* text is .*; width must be/],
  ] as const) {
    it(`stops at ${what}`, () => expect(() => compile(declaration)).to.throw(reason));
  }

  it('needs no url in the examples of an image helper', () => {
    const inputs = [{ text: 'a' }, { text: 'a', url: 'https://a.example/b' }, { dryrun: true }];
    compile({ files: [sourceField], examples: inputs.map((input) => ({ input })) });
  });

  it('closes a schema that says it is open, and accepts the same $id twice', () => {
    const open = { input: { ...input, $id: 'urn:x', additionalProperties: true } };
    const ajv = createVocabulary();
    compileParameters(ajv, open);
    const { check } = compileParameters(ajv, open);
    expect(check({ text: 'a', x: 1 }, { dryrun: false }).problems).to.have.length(1);
  });
});

describe('schemas of any composition', () => {
  closeNestedPeerTests(50);
  lateCompileTests(100);
});

describe('schemas with alternatives', () => {
  const properties = { a: { type: 'string' }, b: { type: 'string' } };

  for (const keyword of ['anyOf', 'oneOf']) {
    it(`name the parameters that ${keyword} asks for, and ask for none in a dry run`, () => {
      const { problems } = checkerOf({ properties, [keyword]: [{ required: ['a'] }, { required: ['b'] }] });
      expect(problems({})).to.deep.equal(['a is required, or in its place b']);
      expect([...problems({ b: 'x' }), ...problems({}, dry)]).to.deep.equal([]);
    });
  }

  it('are one problem of one parameter', () => {
    const problem = 'v must be an integer of at least 3 or true or false, but is the string "x"';
    const anyOf = [{ type: 'integer', minimum: 3 }, { type: 'boolean' }];
    expect(problemsOf('x', { anyOf })).to.deep.equal([problem]);
  });

  it('leave the conditions of if', () => {
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    const { problems } = checkerOf({ properties, if: { required: ['a'] }, then: { required: ['b'] } });
    expect(problems({ a: 'x' })).to.deep.equal(['b is required']);
    expect(problems({ a: 'x' }, dry)).to.deep.equal([]);
  });
});

describe('the problems of rules for a whole object', () => {
  const properties = { a: { type: 'integer' }, b: { type: 'integer' } };
  const both = { required: ['a', 'b'], properties: { a: true, b: true } };
  const notOne = { properties: { a: { const: 1 } }, required: ['a'] };

  for (const [rule, given, problem] of [
    [{ not: both }, { a: 1, b: 2 }, 'must not have a and b together'],
    [{ not: { required: ['b'], properties: { b: true } } }, { b: 2 }, 'must not have b'],
    [{ not: notOne }, { a: 1 }, 'is a combination that is not allowed'],
    [{ minProperties: 2 }, { a: 1 }, 'must have at least 2 of its fields, but has 1'],
  ] as [JsonSchema, Record<string, unknown>, string][]) {
    it(`are named, outside and inside of a parameter: ${problem}`, () => {
      expect(checkerOf({ properties, ...rule }).problems(given)).to.deep.equal([`* ${problem}`]);
      expect(problemsOf(given, { type: 'object', properties, ...rule })).to.deep.equal([`v ${problem}`]);
    });
  }
});

describe('hints', () => {
  it('are looked for as long as that is cheap', () => {
    const names = Array.from({ length: 2000 }, (_, at) => `value-number-${at}`);
    const sent = Array.from({ length: 50 }, (_, at) => `value-numbr-${at}`);
    const found = problemsOf(sent, { type: 'array', items: { type: 'string', enum: names } });
    expect(found).to.have.length(50);
    expect(found.filter((problem) => problem.includes('did you mean'))).to.have.length(3);
    expect(found.join('').length).to.be.below(150_000);
  });

  const values = Array.from({ length: 60 }, (_, at) => `value-${at}`);
  const some = 'one of value-0, value-1, value-2, value-3, value-4 and 55 more';
  const property = { type: 'string', enum: values };
  const choice = { type: 'string', choice: Object.fromEntries(values.map((value) => [value, []])) };
  const meant = `v must be ${some}, but is the string "value59"; did you mean "value-59"?`;
  const few = Array.from({ length: 12 }, (_, at) => `v${at}`);
  for (const [what, schema, value, problem] of [
    ['of an enum', { enum: values }, 'value59', meant],
    ['of a choice', choice, 'value59', meant],
    ['beside a number', property, 7, `v must be ${some}, but is the number 7`],
    ['beside null', property, null, `v must be ${some}, but is null`],
    ['in a list', { type: 'array', items: property }, ['x'], `v.0 must be ${some}, but is the string "x"`],
    ['not of few values', { enum: few }, 'x', `v must be one of ${few.join(', ')}, but is the string "x"`],
  ] as [string, JsonSchema, unknown, string][]) {
    it(`stand in the place of dozens of values, ${what}`, () =>
      expect(problemsOf(value, schema)).to.deep.equal([problem]));
  }

  it('stand there where a parameter is missing, too', () => {
    const { problems } = checkerOf({ properties: { v: property }, required: ['v'] });
    expect(problems({})).to.deep.equal([`v is required: ${some}`]);
  });
});

describe('compileOutput', () => {
  const size = { type: 'object', required: ['w'], properties: { w: { type: 'integer', default: 1 } } };
  const problems = (output: JsonSchema, data: object) =>
    compileOutput(createVocabulary(), { type: 'object', ...output })(data).map(({ field }) => field);

  it('names the place of what is not as declared, or not declared where the schema does not allow others', () => {
    const properties = { size, list: { type: 'array', items: size } };
    expect(problems({ properties }, { size: { w: 1 }, list: [{ w: 2 }] })).to.deep.equal([]);
    const wrong = { size: { w: 'a' }, list: [{ w: 2 }, { w: 0.5 }] };
    expect(problems({ properties }, wrong)).to.deep.equal(['size.w', 'list.1.w']);
    const more = { size: { w: 1, h: 2 }, more: 1 };
    expect(problems({ properties }, more)).to.have.members(['size.h', 'more']);
    for (const open of [{ properties: {}, additionalProperties: true }, {}])
      expect(problems(open, { more: 1 })).to.deep.equal([]);
  });

  it('leaves its argument as it is', () => {
    const data = { color: 'RED' };
    problems({ properties: { color: { type: 'string', color: true }, n: { default: 3 } } }, data);
    expect(data).to.deep.equal({ color: 'RED' });
  });

  it('names all faults of a schema', () => {
    expect(() => problems({ properties: { a: { type: 'strin' }, b: { minimun: 1 } } }, {})).to.throw(
      /output is not a valid schema:\s+output\.properties\.a\.type.*\n\s+output\.properties\.b\.minimun/,
    );
  });
});
