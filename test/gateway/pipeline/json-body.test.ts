import { expect } from 'chai';
import fc from 'fast-check';
import { parseJsonObject, repeatedNames } from '../../../gateway/pipeline/json-body.js';

function problemOf(text: string): string {
  try {
    parseJsonObject(text);
  } catch (error) {
    const { code, details } = error as { code: string; details: { field: string; problem: string }[] };
    expect(code).to.equal('invalid_input');
    return `${details[0]?.field} ${details[0]?.problem}`;
  }
  throw new Error('was accepted');
}

describe('parseJsonObject', () => {
  it('gives the object', () => {
    expect(parseJsonObject('{"a": [1, {"a": 2}]}')).to.deep.equal({ a: [1, { a: 2 }] });
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
});

describe('repeatedNames', () => {
  it('finds nothing in what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        expect(repeatedNames(JSON.stringify(value))).to.deep.equal([]);
        expect(repeatedNames(JSON.stringify(value, null, 2))).to.deep.equal([]);
      }),
    );
  });

  it('finds every outer name in an object that is written twice over', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), (value) => {
        const inner = JSON.stringify(value).slice(1, -1);
        expect(repeatedNames(`{${inner},${inner}}`)).to.have.members(Object.keys(value));
      }),
    );
  });
});
