import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import { type Answer, jsonSize, makeAnswer, toBytes } from '../../pool/answer.js';
import { anyCharacter } from '../examples.js';

const most = 1000;
const textOf = (answer: Answer) => new TextDecoder().decode(toBytes(answer).bytes);
const dataOf = (value: unknown) => JSON.parse(textOf(makeAnswer(value, most)));

class Point {
  x = 1;
  y = 2;
}

class Hidden {
  #x = 1;
  get x() {
    return this.#x;
  }
}

describe('makeAnswer', () => {
  it('makes data of objects of any realm, of instances by their own fields, and of what JSON has a form for', () => {
    expect(dataOf(runInNewContext('({ a: [{}, Object.create(null)] })'))).to.deep.equal({ a: [{}, {}] });
    expect(dataOf({ at: new Point() })).to.deep.equal({ at: { x: 1, y: 2 } });
    expect(dataOf(new Point())).to.deep.equal({ x: 1, y: 2 });
    const value = { gone: undefined, none: [undefined, Number.NaN], boxed: new Number(1), date: new Date(0) };
    expect(dataOf(value)).to.deep.equal({ none: [null, null], boxed: 1, date: '1970-01-01T00:00:00.000Z' });
  });

  for (const [what, value] of [
    ['a Set', new Set([1])],
    ['a URLSearchParams', new URLSearchParams('a=1')],
    ['a Headers', new Headers({ a: '1' })],
    ['a Blob', new Blob(['x'])],
    ['a Hidden', new Hidden()],
    ['a RegExp', /x/],
    ['an ArrayBuffer', new ArrayBuffer(8)],
    ['a Float64Array', new Float64Array(1)],
    ['a Map', { toJSON: () => new Map() }],
    ['a bigint', 1n],
  ] as const) {
    it(`refuses what JSON would lose, by its place: ${what}`, () => {
      expect(() => makeAnswer({ list: [{ value }] }, most)).to.throw(`list.0.value is ${what}`);
    });
  }

  for (const [value, instead] of [
    [1n, 'a bigint (write String(…) or Number(…))'],
    [new Map([['a', 1]]), 'a Map (write Object.fromEntries(…))'],
    [new Set([1]), 'a Set (write [...…])'],
    [Promise.resolve(), 'a Promise (await it)'],
    [new TypeError('x'), 'a TypeError (throw it)'],
  ] as const) {
    it(`says what to write instead of ${instead}`, () => {
      expect(() => makeAnswer({ list: [value] }, most)).to.throw(`list.0 is ${instead}`);
      expect(() => makeAnswer(value, most)).to.throw(`returned ${instead}; it may return`);
    });
  }

  for (const [value, reason] of [
    [undefined, 'returned undefined (is a return missing?); it may return'],
    [[1], 'returned an Array (put it into a field); it may return'],
    [{ border: () => 1, encode: async () => ({}) }, 'image.encode("png")'],
    [
      { body: new Uint8Array(2001), type: 'image/png' },
      'a body of 2001 bytes; one answer may have 2000, a quarter of HELPER_OUTPUT_BYTES',
    ],
  ] as const) {
    it(`says what may have been meant, or which bound there is: ${reason}`, () => {
      expect(() => makeAnswer(value, most, 2000)).to.throw(reason);
    });
  }

  it('reads a body without a type as data, and a type without a body', () => {
    const noType = [
      { body: 'x', headers: { a: 1 } },
      { type: 5, body: 'x' },
    ];
    for (const data of [...noType, { type: 'note', body: { a: 1 } }, { type: 'image/png' }])
      expect(dataOf(data)).to.deep.equal(data);
  });

  for (const [type, sent] of [
    ['text/csv', 'text/csv; charset=utf-8'],
    ['text/csv; header=present', 'text/csv; header=present; charset=utf-8'],
    ['text/html;charset="UTF-8"', 'text/html;charset="UTF-8"'],
    ['application/xml', 'application/xml'],
  ] as const) {
    it(`sends text as UTF-8 and says so: ${type}`, () => {
      const answer = makeAnswer({ body: 'ü', type, headers: undefined }, most);
      expect(answer).to.include({ kind: 'bytes', type: sent });
      expect(textOf(answer)).to.equal('ü');
    });
  }

  for (const type of ['', 'png', 'text/plain\r\nx: y', 'text/plain; x=\n', 'text/plain; x=ü']) {
    it(`refuses what is no media type: ${JSON.stringify(type)}`, () => {
      expect(() => makeAnswer({ body: 'x', type }, most)).to.throw('must name the media type');
      expect(() => makeAnswer({ body: new Uint8Array(1), type }, most)).to.throw('must name the media type');
    });
  }

  it('bounds text and JSON by their bytes, as they are measured and as they are written, and a picture by another bound', () => {
    let reads = 0;
    const grows = {
      get text() {
        reads += 1;
        return 'x'.repeat(reads === 1 ? 1 : 2 * most);
      },
    };
    for (const value of [grows, { text: 'ü'.repeat(500) }, { body: 'ü'.repeat(501), type: 'text/plain' }]) {
      expect(() => makeAnswer(value, most))
        .to.throw()
        .with.property('code', 'result_too_large');
    }
    for (const [body, length] of [
      ['ü'.repeat(500), 1000],
      [new Uint8Array(5000), 5000],
    ] as const) {
      expect(toBytes(makeAnswer({ body, type: 'text/plain' }, most, 5000)).bytes).to.have.length(length);
    }
  });
});

describe('jsonSize', () => {
  it('is the size of a text as JSON, to the byte', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect(jsonSize(text, 1e9)).to.equal(Buffer.byteLength(JSON.stringify(text)));
      }),
    );
  });

  it('is not far from the size of any other value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(jsonSize(value, 1e9)).to.be.at.most(3 * Buffer.byteLength(JSON.stringify(value)) + 4);
      }),
    );
  });

  it('counts no further than what is allowed, and ends with a value that holds itself', () => {
    expect(jsonSize(Array(1e5).fill({ text: '\x01'.repeat(100) }), 1000)).to.be.within(1000, 2000);
    const value: Record<string, unknown> = {};
    value.self = value;
    expect(() => jsonSize(value, 1e9)).to.throw('holds itself');
  });
});
