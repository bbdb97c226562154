import { expect } from 'chai';
import fc from 'fast-check';
import { parseUrlencoded, readJsonObject } from '../../../schemas/input/parse.js';
import { anyCharacter } from '../../examples.js';
import { inWords } from '../checker.js';

const once = 'must be given once, but is given more than once';
const longName = 'body must not have names of more than 8192 characters';

describe('readJsonObject', () => {
  function problemOf(text: string): string {
    const read = readJsonObject(text);
    return 'value' in read ? 'none' : String(inWords(read.problems)[0]);
  }
  const names = (count: number) =>
    `{${Array.from({ length: count }, (_, at) => `"${at * 65536}":1`).join(',')}}`;
  const levels = (count: number) => `{"a":${'['.repeat(count - 1)}${']'.repeat(count - 1)}}`;
  const name = (length: number) => JSON.stringify('n'.repeat(length - 2));

  for (const [what, text, problem] of [
    ['an array', '[]', 'body must be a JSON object, but is an array'],
    ['null', 'null', 'body must be a JSON object, but is null'],
    ['a number', '5', 'body must be a JSON object, but is a number'],
    ['what breaks off', '{"a":', 'body must be JSON: '],
    ['a name that stands twice, however it is written', '{"a": 1, "b": {"a": 1}, "\\u0061": 2}', `a ${once}`],
    ['more than 1000 names', names(1001), 'body must not hold more than 1000 names'],
    ['more in all', `{"a":[${names(600)},${names(600)}]}`, 'body must not hold more than 1000 names'],
    ['more than 32 levels', levels(33), 'body must not be nested more than 32 levels deep'],
    // V8 would compare it with all others of its length.
    ['a name that is too long', `{${name(8193)}:1}`, longName],
    ['one inside', `{"a":[{"b":1,${name(8193)}:1}]}`, longName],
  ] as const) {
    it(`refuses ${what}`, () => expect(problemOf(text)).to.contain(problem));
  }

  it('accepts what is just within its bounds', () => {
    const long = `{${name(8192)}:1,"b":{${name(8192)}:"${'v'.repeat(9000)}"}}`;
    for (const text of [names(1000), levels(32), long]) expect(problemOf(text)).to.equal('none');
  });

  it('accepts what JSON.stringify writes, and names every outer name of what is written twice over', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (value) => {
        for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
          expect(readJsonObject(text)).to.deep.equal({ value: JSON.parse(text) });
        }
        const inner = JSON.stringify(value).slice(1, -1);
        const twice = readJsonObject(`{${inner},${inner}}`);
        const named = 'problems' in twice ? twice.problems.length : 0;
        if (Object.keys(value).length > 0) expect(named).to.equal(Object.keys(value).length);
      }),
    );
  });

  it('neither throws nor hangs, whatever the text', () => {
    const text = fc.string({ unit: fc.constantFrom(...'{}[]:,"\\ax1 '), maxLength: 200 });
    const read = fc.property(text, (text) => void readJsonObject(text));
    fc.assert(read, { numRuns: 2000 });
  });
});

describe('parseUrlencoded', () => {
  it('reads back whatever was encoded', () => {
    expect([...parseUrlencoded('a=one+two&b=%C3%A4&c').values].join(' ')).to.equal('a,one two b,ä c,');
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.dictionary(text, text, { maxKeys: 20, noNullPrototype: true }), (values) => {
        const wanted = Object.entries(values);
        const parsed = parseUrlencoded(new URLSearchParams(wanted).toString());
        expect([parsed.problems, [...parsed.values]]).to.deep.equal([[], wanted]);
      }),
    );
  });

  for (const [what, text, problem] of [
    ['a parameter that is given twice, once', 'a=1&a=2&a=3&b=1', `a ${once}`],
    ['what is not percent-encoded', 'a=%zz', 'a must be percent-encoded UTF-8'],
    ['what is not UTF-8', 'a=%ff', 'a must be percent-encoded UTF-8'],
    ['a name that is not', '%ff=1', 'query must be percent-encoded UTF-8'],
    ['more parameters than any helper has', `b&${'&'.repeat(1000)}`, 'query must not hold more than 1000'],
  ] as const) {
    it(`refuses ${what}`, () => {
      const problems = inWords(parseUrlencoded(text).problems);
      expect(problems).to.have.length(1);
      expect(problems[0]).to.contain(problem);
    });
  }

  it('drops a name so long that V8 would compare it with all others of its length, and says so once', () => {
    const long = Array.from({ length: 3 }, (_, at) => `${'n'.repeat(8192)}${at}=1&${'m'.repeat(8193)}`);
    const { values, problems } = parseUrlencoded(`${'k'.repeat(8192)}=1&${long.join('&')}`, 'body');
    expect([...values.keys()].map((name) => name.length)).to.deep.equal([8192]);
    expect(inWords(problems)).to.deep.equal([longName]);
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => void parseUrlencoded(text)));
  });
});
