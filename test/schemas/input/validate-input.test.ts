import { expect } from 'chai';
import { sourceField } from '../../../schemas/declared-helper.js';
import { parseUrlencoded } from '../../../schemas/input/parse.js';
import {
  isLight,
  lightBytes,
  type RawInput,
  validateRawInput,
} from '../../../schemas/input/validate-input.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const parameters = compileParameters(createVocabulary(), {
  input: {
    type: 'object',
    properties: {
      text: { type: 'string', maxLength: 10 },
      count: { type: 'integer', minimum: 0, maximum: 9, default: 1 },
    },
    required: ['text'],
  },
});

function validate(query: string, body?: RawInput['body']) {
  return validateRawInput(parameters, { query: parseUrlencoded(query), body }, { runsDry: false });
}

describe('validateRawInput', () => {
  it('makes one object of query and body, the body winning', () => {
    const { input, problems } = validate('text=q&count=2', { kind: 'json', bytes: bytes('{"text":"b"}') });
    expect([input, problems]).to.deep.equal([{ text: 'b', count: 2 }, []]);
  });

  it('reads forms and fields by the declared type, and JSON to the letter', () => {
    expect(validate('', { kind: 'form', bytes: bytes('text=b&count=3') }).input).to.deep.equal({
      text: 'b',
      count: 3,
    });
    const fields = new Map([
      ['text', bytes('b')],
      ['count', bytes('4')],
    ]);
    expect(validate('', { kind: 'fields', fields, problems: [] }).input).to.deep.equal({
      text: 'b',
      count: 4,
    });
    expect(validate('', { kind: 'json', bytes: bytes('{"text":"b","count":"4"}') }).problems).to.have.length(
      1,
    );
  });

  it('lifts what is required in a dry run', () => {
    expect(validate('dryrun=1')).to.deep.equal({ input: { count: 1 }, dryrun: true, problems: [] });
  });

  it('says where bytes are not UTF-8', () => {
    const broken = new Uint8Array([0xff]);
    expect(validate('', { kind: 'json', bytes: broken }).problems).to.deep.equal([
      { field: 'body', problem: 'must be UTF-8 text' },
    ]);
    const fields = new Map([['text', broken]]);
    expect(validate('', { kind: 'fields', fields, problems: [] }).problems).to.deep.equal([
      { field: 'text', problem: 'must be UTF-8 text' },
    ]);
  });

  it('treats an empty body as none', () => {
    expect(validate('text=q', { kind: 'json', bytes: bytes('  ') }).input).to.deep.equal({
      text: 'q',
      count: 1,
    });
  });

  it('says which header is missing where a form is JSON', () => {
    const byShells = ['{text:a}', "'{text:a}'", "{'text':'a'}", '[1]'];
    for (const text of [
      ...byShells,
      '{"text":"a"}',
      ' {\n"text": "a=b&c"',
      '{}',
      '[{"a":1}]',
      '%7B%22text%22%3A1%7D=',
    ]) {
      const { problems } = validate('', { kind: 'form', bytes: bytes(text) });
      expect(problems, text).to.have.length(1);
      expect(problems[0]?.field).to.equal('body');
      expect(problems[0]?.problem).to.match(/looks like JSON.*Content-Type: application\/json/);
    }
    for (const text of ['text={"a":1}', 'text=[1]', '{x}=1&text=a']) {
      expect(JSON.stringify(validate('', { kind: 'form', bytes: bytes(text) }).problems)).not.to.contain(
        'JSON',
      );
    }
  });

  it('ignores what forms send of untouched fields, the file’s or its url’s', () => {
    const withFile = compileParameters(createVocabulary(), {
      input: { type: 'object' },
      files: [sourceField],
    });
    const query = parseUrlencoded('url=&file=');
    const problemsOf = (uploaded: string[]) =>
      validateRawInput(withFile, { query, uploaded }, { runsDry: false }).problems;
    expect(problemsOf(['file'])).to.deep.equal([]);
    expect(problemsOf([]).map(({ problem }) => problem)).to.deep.equal([
      'is required: send the url of a picture, or upload one as file',
    ]);
  });

  it('does not say that a picture is missing where one came twice', () => {
    const picture = compileParameters(createVocabulary(), {
      input: { type: 'object' },
      files: [sourceField],
    });
    const twice = { field: 'file', problem: 'must be given once, but is given more than once' };
    const body = { kind: 'fields', fields: new Map(), problems: [twice] } as const;
    const raw = { query: parseUrlencoded(''), body };
    expect(validateRawInput(picture, raw, { runsDry: false }).problems).to.deep.equal([twice]);
  });

  it('does not mistake a repeated url for an upload', () => {
    const logo = { field: 'logo', parameter: 'logo', kind: 'image', required: true } as const;
    const withLogo = compileParameters(createVocabulary(), { input: { type: 'object' }, files: [logo] });
    const { problems } = validateRawInput(
      withLogo,
      { query: parseUrlencoded('logo=a&logo=b') },
      { runsDry: false },
    );
    expect(problems).to.deep.equal([
      { field: 'logo', problem: 'must be given once, but is given more than once' },
    ]);
  });
});

const query = parseUrlencoded('');
const json = (text: string) => ({ kind: 'json' as const, bytes: new TextEncoder().encode(text) });

describe('isLight', () => {
  it('holds for no body, and for a small one', () => {
    expect(isLight({ query, body: undefined })).to.equal(true);
    expect(isLight({ query, body: json('{"a":1}') })).to.equal(true);
  });

  it('fails past 64 KB, of all fields together', () => {
    const half = new Uint8Array(lightBytes / 2 + 1);
    const body = (...fields: Uint8Array[]) => ({
      kind: 'fields' as const,
      fields: new Map(fields.map((bytes, at) => [String(at), bytes])),
      problems: [],
    });
    expect(isLight({ query, body: body(half) })).to.equal(true);
    expect(isLight({ query, body: body(half, half) })).to.equal(false);
  });

  it('fails for long lists, in the body or the query', () => {
    const list = Array(502).fill('1').join(',');
    expect(isLight({ query, body: json(`{"a":[${list}]}`) })).to.equal(false);
    expect(isLight({ query: parseUrlencoded(`a=${list}`), body: undefined })).to.equal(false);
    expect(isLight({ query: parseUrlencoded(`a=${list.slice(4)}`), body: undefined })).to.equal(true);
  });
});
