import { expect } from 'chai';
import fc from 'fast-check';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { createPolicyReader } from '../../../gateway/download/http-cache.js';

const start = Date.UTC(2026, 0, 1);
const httpDate = (seconds: number) => new Date(start + seconds * 1000).toUTCString();
const asked = { url: new URL('https://example.com/a.png'), accept: 'image/*' };

/** A policy of an answer that came after a delay of seconds, and a clock in seconds after it. */
function policyOf(headers: IncomingHttpHeaders, delay = 0) {
  let now = start;
  const moments = { asked: start - delay * 1000, came: start };
  const policy = createPolicyReader(() => now)(asked, { 'content-length': '3', ...headers }, moments);
  return {
    policy,
    freshAt(seconds: number) {
      now = start + seconds * 1000;
      return policy?.isFresh() ?? false;
    },
    /** What a 304 makes of it now. */
    revalidated: (received: IncomingHttpHeaders) => policy?.revalidated(received, { asked: now, came: now }),
  };
}

/** For how many seconds an answer with these headers is used without a request to its server. */
function life(headers: IncomingHttpHeaders, delay = 0): number {
  const { freshAt } = policyOf(headers, delay);
  if (!freshAt(0)) return 0;
  let [low, high] = [0, 2 ** 32];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (freshAt(middle)) low = middle;
    else high = middle;
  }
  return high;
}

describe('createPolicyReader', () => {
  const cc = (text: string) => ({ 'cache-control': text });

  const lives: [string, IncomingHttpHeaders, seconds: number, delay?: number][] = [
    ['max-age', cc('max-age=60'), 60],
    ['max-age in any case, quoted', cc('Public, Max-Age="60"'), 60],
    ['s-maxage before max-age', cc('max-age=600, s-maxage=60'), 60],
    ['s-maxage longer than max-age', cc('max-age=60, s-maxage=600'), 600],
    ['max-age before Expires', { ...cc('max-age=60'), expires: httpDate(600) }, 60],
    ['Expires', { expires: httpDate(60), date: httpDate(0) }, 60],
    ['Expires by a clock that is ahead', { expires: httpDate(3660), date: httpDate(3600) }, 60],
    ['immutable without an age', cc('immutable'), 0],
    ['what may be served stale', cc('max-age=60, stale-while-revalidate=600, stale-if-error=600'), 60],
    ['an Age', { ...cc('max-age=60'), age: '20' }, 40],
    ['an Age past the end', { ...cc('max-age=60'), age: '61' }, 0],
    ['a negative Age', { ...cc('max-age=60'), age: '-1000' }, 60],
    ['an Age that is no number', { ...cc('max-age=60'), age: '1e9, 5' }, 60],
    ['two Ages', { ...cc('max-age=60'), age: ['20', '1'] }, 40],
    ['an Age of an hour in a Date long past', { ...cc('max-age=60'), date: httpDate(-30), age: '10' }, 30],
    ['a Date to come', { ...cc('max-age=60'), date: httpDate(1000) }, 60],
    ['a Date that is none', { ...cc('max-age=60'), date: 'yesterday' }, 60],
    ['a huge max-age', cc(`max-age=${'9'.repeat(400)}`), 2 ** 31],
    ['a negative max-age', cc('max-age=-60'), 0],
    ['a max-age that is no number', { ...cc('max-age=1e9'), expires: httpDate(60) }, 0],
    ['a max-age without a value', { ...cc('max-age'), expires: httpDate(60) }, 0],
    ['two max-ages, of which the shorter counts', cc('max-age=600, max-age=60'), 60],
    ['two headers', { 'cache-control': ['max-age=600', 'MAX-AGE=60'] }, 60],
    ['a max-age within quotes of something else', cc('x="a, max-age=600"'), 0],
    ['Expires as a year', { expires: '9999' }, 0],
    ['Expires: -1', { expires: '-1' }, 0],
    ['two Expires', { expires: [httpDate(60), httpDate(600)] }, 0],
    ['nothing but a date of the last change', { 'last-modified': httpDate(-1e9) }, 0],
    ['no-store in any case', cc('max-age=60, No-Store'), 0],
    ['no-store with a value', cc('max-age=60, no-store='), 0],
    ['no-store in a second header', { 'cache-control': ['max-age=60', 'no-store'] }, 0],
    ['private in any case, of a field', cc('max-age=60, Private="set-cookie, x"'), 0],
    ['no-cache of a field', cc('max-age=60, no-cache="x"'), 0],
    ['HTTP/1.0’s word', { pragma: 'No-Cache', expires: httpDate(60) }, 0],
    ['HTTP/1.0’s word, where there is another', { ...cc('max-age=60'), pragma: 'no-cache' }, 60],
    ['Vary: *', { ...cc('max-age=60'), vary: '*' }, 0],
    ['Vary: * among others', { ...cc('max-age=60'), vary: ['accept', 'x , *'] }, 0],
    ['Set-Cookie', { ...cc('max-age=60'), 'set-cookie': 'a=b' }, 0],
    ['Set-Cookie, where all may have it', { ...cc('max-age=60, public'), 'set-cookie': ['a=b', 'c=d'] }, 60],
    ['nothing', {}, 0],
    ['an answer that took its time', cc('max-age=60'), 40, 20],
    ['an answer with an Age that took its time', { ...cc('max-age=60'), age: '10' }, 30, 20],
  ];
  for (const [name, headers, seconds, delay] of lives)
    it(`holds an answer for ${seconds} s: ${name}`, () => expect(life(headers, delay)).to.equal(seconds));

  it('never holds an answer for longer than its ages say, whatever else it says', () => {
    const values = ['*', '-1', '0', '"', '=', ', ', httpDate(9e8)];
    const value = fc.oneof(fc.string({ maxLength: 20 }), fc.constantFrom(...values));
    const names = ['expires', 'age', 'date', 'vary', 'pragma', 'etag', 'last-modified', 'set-cookie'];
    const given = fc.oneof(value, fc.array(value, { maxLength: 3 }));
    const noise = fc.dictionary(fc.constantFrom(...names), given);
    const known = ['max-age=60', 'MAX-AGE=30', 's-maxage=60', 'public', 'immutable', 'stale-if-error=99'];
    const other = fc.string({ maxLength: 12 }).filter((text) => !/max-?age/i.test(text));
    const control = fc.array(fc.oneof(fc.constantFrom(...known), other));
    fc.assert(
      fc.property(noise, control, (headers, directives) => {
        const all = { ...headers, 'cache-control': `max-age=60, ${directives.join(',')}` };
        expect(life(all)).to.be.at.most(60);
      }),
    );
  });

  it('lets nothing live longer by a clock that is set back', () => {
    const { freshAt } = policyOf(cc('max-age=60'));
    expect([freshAt(0), freshAt(59), freshAt(-1), freshAt(-1000)]).to.deep.equal([true, true, false, false]);
  });

  it('stores nothing that neither lasts nor can be revalidated, nor what may have been cut off', () => {
    const cut = { ...cc('max-age=60'), 'content-length': undefined };
    for (const headers of [{}, cc('public'), cc('no-cache'), { etag: 'x' }, { 'last-modified': '1' }, cut])
      expect(policyOf(headers).policy, JSON.stringify(headers)).to.equal(undefined);
    const chunked = { ...cut, 'transfer-encoding': 'chunked' };
    for (const headers of [cc('max-age=1'), { etag: '"a"' }, { 'last-modified': httpDate(-5) }, chunked])
      expect(policyOf(headers).policy, JSON.stringify(headers)).to.not.equal(undefined);
  });

  it('revalidates with what the server gave, where that can be sent', () => {
    const ask = (headers: IncomingHttpHeaders) =>
      policyOf({ ...cc('max-age=60'), ...headers }).policy?.validators();
    expect(ask({ etag: 'W/"a,b"', 'last-modified': httpDate(-5) })).to.deep.equal({
      'if-none-match': 'W/"a,b"',
      'if-modified-since': httpDate(-5),
    });
    for (const etag of ['a', `"${'a'.repeat(10_000)}"`, '"a\u00e9"', '"a", "b"', '"a\r\nx: y"', '*'])
      expect(ask({ etag }), etag.slice(0, 20)).to.equal(undefined);
    expect(ask({ 'last-modified': 'Sunday, 06-Nov-94 08:49:37 GMT' })).to.equal(undefined);
  });

  describe('after a 304', () => {
    const first = { ...cc('max-age=60'), etag: '"a"', 'content-type': 'image/png' };

    it('holds for as long as that says, and keeps what it does not say', () => {
      const { freshAt, revalidated } = policyOf(first);
      expect(freshAt(100)).to.equal(false);
      const again = revalidated({ etag: '"a"' });
      expect([again?.storable, again?.policy.isFresh()]).to.deep.equal([true, true]);
      expect(freshAt(161) || again?.policy.isFresh()).to.equal(false);
      const other = revalidated({ ...cc('max-age=5'), 'content-type': 'text/html' });
      expect(other?.policy.fields).to.deep.equal({ ...first, ...cc('max-age=5') });
    });

    it('heeds what was not said before', () => {
      const { revalidated } = policyOf({ etag: '"a"' });
      for (const headers of [cc('no-store'), cc('private'), { vary: '*' }])
        expect(revalidated(headers)?.storable, JSON.stringify(headers)).to.equal(false);
      expect(revalidated(cc('max-age=9'))?.policy.isFresh()).to.equal(true);
      expect(revalidated({ ...cc('max-age=9'), age: '10' })?.policy.isFresh()).to.equal(false);
    });

    it('accepts none that is about another version', () => {
      const { revalidated } = policyOf({ ...first, 'last-modified': httpDate(-9) });
      for (const etag of ['"b"', 'W/"b"']) expect(revalidated({ etag }), etag).to.equal(undefined);
      expect(revalidated({ etag: 'W/"a"' })).to.not.equal(undefined);
      const dated = policyOf({ 'last-modified': httpDate(-9) });
      expect(dated.revalidated({ 'last-modified': httpDate(-8) })).to.equal(undefined);
      expect(dated.revalidated({})).to.not.equal(undefined);
    });
  });
});
