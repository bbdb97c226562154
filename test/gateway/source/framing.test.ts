import { expect } from 'chai';
import { createFraming, headBytes } from '../../../gateway/source/framing.js';

describe('createFraming', () => {
  it('allows 64 KB in all, whichever hop sends them', () => {
    const framing = createFraming();
    expect([framing.exceeds(65_536, 0), framing.exceeds(65_537, 0)]).to.deep.equal([false, true]);
    framing.spend(60_000);
    expect([framing.exceeds(5536, 0), framing.exceeds(5537, 0)]).to.deep.equal([false, true]);
  });

  it('allows a byte more for every sixteen of the file', () => {
    const framing = createFraming();
    expect([framing.exceeds(65_536 + 10, 160), framing.exceeds(65_536 + 11, 160)]).to.deep.equal([
      false,
      true,
    ]);
  });
});

describe('headBytes', () => {
  it('counts a head as it stood on the wire', () => {
    const head = 'HTTP/1.1 200 OK\r\na: b\r\nset-cookie: c\r\nset-cookie: d\r\n\r\n';
    expect(headBytes({ a: 'b', 'set-cookie': ['c', 'd'] }, 'OK')).to.equal(head.length);
  });
});
