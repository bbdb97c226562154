import { expect } from 'chai';
import { parseUrlencoded } from '../../../schemas/input/urlencoded.js';
import { isLight, lightBytes } from '../../../schemas/input/weigh.js';

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
