import { expect } from 'chai';
import { judgeHead } from '../../../gateway/source/response-head.js';

const refusal = (status: number, headers: Record<string, string | string[]>) => {
  try {
    judgeHead(status, headers, { maxBytes: 1000 });
  } catch (error) {
    return (error as { code: string }).code;
  }
  return undefined;
};

describe('judgeHead', () => {
  it('reads a plain 200', () => {
    expect(judgeHead(200, {}, { maxBytes: 1000 })).to.deep.equal({ read: true, length: undefined });
    expect(
      judgeHead(200, { 'content-length': '1000', 'content-encoding': 'Identity' }, { maxBytes: 1000 }),
    ).to.include({
      length: 1000,
    });
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`follows ${status}`, () => {
      expect(judgeHead(status, { location: '/b' }, { maxBytes: 1000 })).to.deep.equal({
        read: false,
        location: '/b',
      });
    });
    it(`fails on ${status} without one location`, () => {
      expect(refusal(status, {})).to.equal('source_failed');
      expect(refusal(status, { location: '' })).to.equal('source_failed');
      expect(refusal(status, { location: ['/a', '/b'] })).to.equal('source_failed');
    });
  }

  it('reads a location that was sent as raw UTF-8', () => {
    const location = Buffer.from('/ä').toString('latin1');
    expect(judgeHead(302, { location }, { maxBytes: 1000 })).to.include({ location: '/ä' });
  });

  for (const status of [201, 204, 206, 300, 304, 305, 400, 404, 500, 503]) {
    it(`fails on ${status}`, () => expect(refusal(status, { location: '/b' })).to.equal('source_failed'));
  }

  it('takes a 304 for an answer where it was asked whether something still holds', () => {
    const validators = { 'if-none-match': '"a"' };
    expect(judgeHead(304, { 'content-length': '5' }, { maxBytes: 1, validators })).to.deep.equal({
      read: false,
      location: undefined,
    });
    expect(judgeHead(304, {}, { maxBytes: 1, anyStatus: true })).to.include({ read: true });
  });

  for (const coding of ['gzip', 'br', 'identity, gzip', 'x']) {
    it(`fails on the coding ${coding}`, () => {
      expect(refusal(200, { 'content-encoding': coding })).to.equal('source_failed');
      expect(refusal(200, { 'transfer-encoding': `${coding}, chunked` })).to.equal('source_failed');
    });
  }

  it('tells an announced excess from an empty file', () => {
    expect(refusal(200, { 'content-length': '1001' })).to.equal('image_too_large');
    expect(refusal(200, { 'content-length': '0' })).to.equal('source_failed');
  });
});
