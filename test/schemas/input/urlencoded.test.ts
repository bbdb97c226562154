import { expect } from 'chai';
import fc from 'fast-check';
import { parseUrlencoded } from '../../../schemas/input/parse.js';
import { anyCharacter } from '../../examples.js';

describe('parseUrlencoded', () => {
  it('reads names and values, with + for a space', () => {
    expect([...parseUrlencoded('a=one+two&b=%C3%A4&c').values]).to.deep.equal([
      ['a', 'one two'],
      ['b', 'ä'],
      ['c', ''],
    ]);
  });

  it('reads back whatever was encoded', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.dictionary(text, text, { maxKeys: 20, noNullPrototype: true }), (values) => {
        const parsed = parseUrlencoded(new URLSearchParams(Object.entries(values)).toString());
        expect(parsed.problems).to.deep.equal([]);
        const wanted = Object.entries(values);
        expect([...parsed.values]).to.deep.equal(wanted);
      }),
    );
  });

  it('names a parameter that is given twice, once', () => {
    const { problems } = parseUrlencoded('a=1&a=2&a=3&b=1');
    expect(problems).to.deep.equal([
      { field: 'a', problem: 'must be given once, but is given more than once' },
    ]);
  });

  it('refuses what is not percent-encoded UTF-8, by name', () => {
    expect(parseUrlencoded('a=%zz').problems[0]?.field).to.equal('a');
    expect(parseUrlencoded('a=%ff').problems[0]?.field).to.equal('a');
    expect(parseUrlencoded('%ff=1').problems[0]?.field).to.equal('query');
  });

  it('gives up on more parameters than any helper has', () => {
    const { values, problems } = parseUrlencoded('a&'.repeat(8000));
    expect(values.size).to.equal(1);
    expect(problems.map(({ field }) => field)).to.include('query');
  });

  it('keeps no name so long that V8 would compare it with all others of its length, and says so once', () => {
    const long = Array.from({ length: 3 }, (_, at) => `${'n'.repeat(8192)}${at}=1&${'m'.repeat(8193)}`);
    const { values, problems } = parseUrlencoded(`${'k'.repeat(8192)}=1&${long.join('&')}`, 'body');
    expect([...values.keys()].map((name) => name.length)).to.deep.equal([8192]);
    expect(problems).to.deep.equal([
      { field: 'body', problem: 'must not have names of more than 8192 characters' },
    ]);
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => void parseUrlencoded(text)));
  });
});
