import { expect } from 'chai';
import fc from 'fast-check';
import { readJsonObject } from '../../../schemas/input/parse.js';

function problemOf(text: string): string {
  const read = readJsonObject(text);
  if ('value' in read) throw new Error('was accepted');
  return `${read.problems[0]?.field} ${read.problems[0]?.problem}`;
}

describe('readJsonObject', () => {
  it('gives the object', () => {
    expect(readJsonObject('{"a": [1, {"a": 2}]}')).to.deep.equal({ value: { a: [1, { a: 2 }] } });
  });

  it('says what stands there in place of an object', () => {
    expect(problemOf('[]')).to.equal('body must be a JSON object, but is an array');
    expect(problemOf('null')).to.equal('body must be a JSON object, but is null');
    expect(problemOf('5')).to.equal('body must be a JSON object, but is a number');
    expect(problemOf('{"a":')).to.match(/^body must be JSON: /);
  });

  it('refuses a name that stands twice, however it is written', () => {
    expect(problemOf('{"a": 1, "b": {"a": 1}, "\\u0061": 2}')).to.match(/^a must be given once/);
  });

  it('refuses more than 1000 names and more than 32 levels', () => {
    const names = (count: number) =>
      `{${Array.from({ length: count }, (_, at) => `"${at * 65536}":1`).join(',')}}`;
    expect(readJsonObject(names(1000))).to.have.property('value');
    expect(problemOf(names(1001))).to.equal('body must not hold more than 1000 names');
    expect(problemOf(`{"a":[${names(600)},${names(600)}]}`)).to.equal(
      'body must not hold more than 1000 names',
    );
    const levels = (count: number) => `{"a":${'['.repeat(count - 1)}${']'.repeat(count - 1)}}`;
    expect(readJsonObject(levels(32))).to.have.property('value');
    expect(problemOf(levels(33))).to.equal('body must not be nested more than 32 levels deep');
  });

  it('refuses a name so long that V8 would compare it with all others of its length, at any depth', () => {
    const name = (length: number) => JSON.stringify('n'.repeat(length - 2));
    expect(readJsonObject(`{${name(8192)}:1,"b":{${name(8192)}:"${'v'.repeat(9000)}"}}`)).to.have.property(
      'value',
    );
    for (const text of [`{${name(8193)}:1}`, `{"a":[{"b":1,${name(8193)}:1}]}`]) {
      expect(problemOf(text)).to.equal('body must not have names of more than 8192 characters');
    }
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
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:,"\\ax1 '), maxLength: 200 }), (text) => {
        readJsonObject(text);
      }),
      { numRuns: 2000 },
    );
  });
});
