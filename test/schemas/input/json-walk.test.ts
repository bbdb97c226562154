import { expect } from 'chai';
import fc from 'fast-check';
import { JsonFault, JsonWalk, type WalkedValue } from '../../../schemas/input/json-walk.js';

function walk(given: string | Uint8Array, stretch = 7) {
  const bytes = Buffer.from(given as string);
  const names: string[] = [];
  const values: (WalkedValue & { text: string })[] = [];
  const text = (start: number, end: number) => bytes.toString('utf8', start, end);
  const walking = new JsonWalk(bytes, {
    onName: (start, end) => names.push(JSON.parse(text(start, end))),
    onValue: (value) => values.push({ ...value, text: text(value.start, value.end) }),
  });
  while (walking.step(stretch));
  return { names, values };
}

function faultOf(given: string | Uint8Array): string {
  try {
    walk(given);
  } catch (error) {
    if (error instanceof JsonFault) return error.message;
    throw error;
  }
  throw new Error('was accepted');
}

describe('schemas/input: JSON walked over', () => {
  it('reports where the outer two levels are', () => {
    const { names, values } = walk('\ufeff {"a": [1.50, {"x": {"y":[]}}], "b\\n": "c"} ');
    expect(names).to.deep.equal(['a', 'b\n']);
    expect(values.map(({ depth, inList, text }) => [depth, inList, text])).to.deep.equal([
      [2, true, '1.50'],
      [2, true, '{"x": {"y":[]}}'],
      [1, false, '[1.50, {"x": {"y":[]}}]'],
      [1, false, '"c"'],
      [0, false, '{"a": [1.50, {"x": {"y":[]}}], "b\\n": "c"}'],
    ]);
  });

  it('counts the names of each element alone', () => {
    const { values } = walk('{"a":1,"b":[{},{"x":1,"y":{"z":1}},2,{"w":[{"v":1}]}]}');
    const counts = values.filter(({ depth }) => depth === 2).map(({ names }) => names);
    expect(counts).to.deep.equal([0, 3, 0, 2]);
  });

  it('accepts what JSON.parse accepts, in steps of any size', () => {
    const json = fc.jsonValue({ maxDepth: 5 });
    const stretch = fc.integer({ min: 1, max: 40 });
    fc.assert(
      fc.property(json, stretch, fc.integer({ min: 0, max: 2 }), (value, most, indent) => {
        const text = JSON.stringify(value, null, indent);
        const whole = walk(text, most).values.at(-1);
        expect(whole).to.include({ depth: 0, text });
      }),
    );
  });

  it('refuses what JSON.parse refuses', () => {
    const chunks = [...'{}[],: \n"-01.e', '"a"', '"\\', '\\u00', 'true', 'nul'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...chunks), { minLength: 1, maxLength: 12 }), (parts) => {
        const text = parts.join('');
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        if (isJson) walk(text);
        else faultOf(text);
      }),
      { numRuns: 2000 },
    );
  });

  it('says what is wrong, and where', () => {
    expect(faultOf('{"a":1')).to.equal('be JSON that is complete: it breaks off');
    expect(faultOf('{"a" 1}')).to.equal('be JSON: what stands at byte 5 cannot stand there');
    expect(faultOf('{"a":"\u0001"}')).to.equal('be JSON: what stands at byte 6 cannot stand there');
    for (const cut of ['"a\xc3("', '"\xc3'])
      expect(faultOf(Buffer.from(cut, 'latin1'))).to.equal('be UTF-8 text');
    expect(faultOf('['.repeat(100))).to.equal('not be nested more than 32 levels deep');
  });

  it('accepts characters of several bytes at the end of a step', () => {
    const text = JSON.stringify('aé€😀'.repeat(9));
    for (const stretch of [1, 2, 3, 5]) expect(walk(text, stretch).values.at(-1)?.text).to.equal(text);
  });
});
