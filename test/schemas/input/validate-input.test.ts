import { expect } from 'chai';
import { type FileField, sourceField } from '../../../schemas/declared-helper.js';
import { parseUrlencoded } from '../../../schemas/input/parse.js';
import {
  isLight,
  lightBytes,
  type RawInput,
  validateRawInput,
} from '../../../schemas/input/validate-input.js';
import { checkerOf, inWords } from '../checker.js';

const notUtf8 = new Uint8Array([0xff]);
const bytes = (text: string) => new TextEncoder().encode(text);
const json = (text: string) => ({ kind: 'json' as const, bytes: bytes(text) });
const form = (text: string) => ({ kind: 'form' as const, bytes: bytes(text) });
const fields = (fields: Record<string, Uint8Array>) => ({
  kind: 'fields' as const,
  fields: new Map(Object.entries(fields)),
  problems: [],
});

describe('validateRawInput', () => {
  const count = { type: 'integer', minimum: 0, maximum: 9, default: 1 };
  const properties = { text: { type: 'string', maxLength: 10 }, count };
  const parameters = checkerOf({ properties, required: ['text'] });

  function validate(query: string, body?: RawInput['body']) {
    const raw = { query: parseUrlencoded(query), body };
    const { problems, ...validated } = validateRawInput(parameters, raw, { runsDry: false });
    return { ...validated, problems: inWords(problems) };
  }

  for (const [what, query, body, input] of [
    ['makes one object of query and body, the body winning', 'text=q&count=2', json('{"text":"b"}'), 'b 2'],
    ['reads forms by the declared type', '', form('text=b&count=3'), 'b 3'],
    ['reads fields by it', '', fields({ text: bytes('b'), count: bytes('4') }), 'b 4'],
    ['treats an empty body as none', 'text=q', json('  '), 'q 1'],
  ] as const) {
    it(what, () => {
      const { input: read, problems } = validate(query, body);
      expect([`${read.text} ${read.count}`, ...problems]).to.deep.equal([input]);
    });
  }

  for (const [what, body, problem] of [
    ['reads JSON to the letter', json('{"text":"b","count":"4"}'), /^count must be an integer/],
    ['says where a body is not UTF-8', { ...json(''), bytes: notUtf8 }, /^body must be UTF-8 text/],
    ['says which field is not', fields({ text: notUtf8 }), /^text must be UTF-8 text/],
  ] as const) {
    it(what, () => {
      const { problems } = validate('', body);
      expect(problems).to.have.length(1);
      expect(problems[0]).to.match(problem);
    });
  }

  it('answers with few problems, however many were sent, and counts the others', () => {
    const unknown = Array.from({ length: 900 }, (_, at) => `"k${at}":1`);
    for (const [query, body, more] of [
      ['', unknown, 851],
      ['', unknown.slice(0, 49), 0],
      ['count=%ff&more=%ff', unknown, 853],
    ] as const) {
      const { problems } = validate(query, json(`{${body.join()}}`));
      expect(problems).to.have.length(more ? 51 : 50);
      if (more) expect(problems.at(-1)).to.equal(`* has ${more} more problems`);
    }
  });

  it('lifts what is required in a dry run', () => {
    expect(validate('dryrun=1')).to.deep.equal({ input: { count: 1 }, dryrun: true, problems: [] });
  });

  it('says which header is missing where a form is JSON', () => {
    const byShells = ['{text:a}', "'{text:a}'", "{'text':'a'}", '[1]'];
    const whole = ['{"text":"a"}', ' {\n"text": "a=b&c"', '{}', '[{"a":1}]', '%7B%22text%22%3A1%7D='];
    for (const text of [...byShells, ...whole]) {
      const { problems } = validate('', form(text));
      expect(problems, text).to.have.length(1);
      expect(problems[0]).to.match(/^body looks like JSON.*Content-Type: application\/json/);
    }
    for (const text of ['text={"a":1}', 'text=[1]', '{x}=1&text=a'])
      expect(validate('', form(text)).problems.join()).not.to.contain('JSON');
  });

  const once = 'must be given once, but is given more than once';
  const logo: FileField = { field: 'logo', parameter: 'logo', kind: 'image', required: true };
  const twice = { ...fields({}), problems: [{ field: 'file', problem: once }] };
  const missing = 'url is required: send the url of a picture, or upload one as file';
  for (const [what, file, query, more, problems] of [
    ['ignores untouched fields of a form', sourceField, 'url=&file=', { uploaded: ['file'] }, []],
    ['says that a file is missing all the same', sourceField, 'url=&file=', {}, [missing]],
    ['does not miss a picture that came twice', sourceField, '', { body: twice }, [`file ${once}`]],
    ['does not mistake a repeated url for an upload', logo, 'logo=a&logo=b', {}, [`logo ${once}`]],
  ] as [string, FileField, string, Partial<RawInput>, string[]][]) {
    it(what, () => {
      const raw = { query: parseUrlencoded(query), ...more };
      const found = validateRawInput(checkerOf({}, { files: [file] }), raw, { runsDry: false });
      expect(inWords(found.problems)).to.deep.equal(problems);
    });
  }
});

describe('isLight', () => {
  const half = new Uint8Array(lightBytes / 2 + 1);
  const list = Array(502).fill('1').join(',');
  for (const [what, is, body, query = ''] of [
    ['no body', true, undefined],
    ['a small one', true, json('{"a":1}')],
    ['a field of half of 64 KB', true, fields({ a: half })],
    ['two of them', false, fields({ a: half, b: half })],
    ['a long list in the body', false, json(`{"a":[${list}]}`)],
    ['a long list in the query', false, undefined, `a=${list}`],
    ['a shorter one', true, undefined, `a=${list.slice(4)}`],
  ] as [string, boolean, RawInput['body'], string?][]) {
    it(`${is ? 'holds for' : 'fails for'} ${what}`, () =>
      expect(isLight({ query: parseUrlencoded(query), body })).to.equal(is));
  }
});
