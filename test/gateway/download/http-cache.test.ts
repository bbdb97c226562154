import { expect } from 'chai';
import fc from 'fast-check';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { createPolicyReader } from '../../../gateway/download/http-cache.js';

const start = Date.UTC(2026, 0, 1);
const httpDate = (seconds: number) => new Date(start + seconds * 1000).toUTCString();
const asked = { url: new URL('https://example.com/a.png'), accept: 'image/*' };

/** A policy of an answer that came at once, and a clock in seconds after it. */
function policyOf(headers: IncomingHttpHeaders, delay = 0) {
  let now = start;
  const judge = createPolicyReader(() => now);
  const moments = { asked: start - delay * 1000, came: start };
  const policy = judge(asked, { 'content-length': '3', ...headers }, moments);
  return {
    policy,
    freshAt(seconds: number) {
      now = start + seconds * 1000;
      return policy?.isFresh() ?? false;
    },
    moments: () => ({ asked: now, came: now }),
  };
}

/** For how many seconds an answer with these headers is used without a word to its server. */
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

  const lives: [string, IncomingHttpHeaders, number][] = [
    ['max-age', cc('max-age=60'), 60],
    ['max-age in any case, quoted', cc('Public, Max-Age="60"'), 60],
    ['s-maxage before max-age', cc('max-age=600, s-maxage=60'), 60],
    ['s-maxage longer than max-age', cc('max-age=60, s-maxage=600'), 600],
    ['Expires', { expires: httpDate(60), date: httpDate(0) }, 60],
    [
      'Expires by the server’s own clock, which is ahead',
      { expires: httpDate(3660), date: httpDate(3600) },
      60,
    ],
    ['max-age before Expires', { ...cc('max-age=60'), expires: httpDate(600) }, 60],
    ['must-revalidate, while fresh', cc('max-age=60, must-revalidate'), 60],
    ['proxy-revalidate, while fresh', cc('max-age=60, proxy-revalidate'), 60],
    ['immutable without an age', cc('immutable'), 0],
    ['immutable with one', cc('max-age=60, immutable'), 60],
    [
      'stale-while-revalidate and stale-if-error',
      cc('max-age=60, stale-while-revalidate=600, stale-if-error=600'),
      60,
    ],
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
    ['Expires: 0', { expires: '0' }, 0],
    ['Expires: -1', { expires: '-1' }, 0],
    ['two Expires', { expires: [httpDate(60), httpDate(600)] }, 0],
    ['nothing but a date of the last change', { 'last-modified': httpDate(-1e9) }, 0],
    ['no-store', cc('no-store, max-age=60'), 0],
    ['no-store in any case', cc('max-age=60, No-Store'), 0],
    ['no-store with a value', cc('max-age=60, no-store='), 0],
    ['no-store in a second header', { 'cache-control': ['max-age=60', 'no-store'] }, 0],
    ['private', cc('private, max-age=60'), 0],
    ['private in any case, of a field', cc('max-age=60, Private="set-cookie, x"'), 0],
    ['no-cache', cc('no-cache, max-age=60'), 0],
    ['no-cache of a field', cc('max-age=60, no-cache="x"'), 0],
    ['HTTP/1.0’s word', { pragma: 'No-Cache', expires: httpDate(60) }, 0],
    ['HTTP/1.0’s word, where there is another', { ...cc('max-age=60'), pragma: 'no-cache' }, 60],
    ['Vary: Accept', { ...cc('max-age=60'), vary: 'Accept' }, 60],
    ['Vary of what is always the same', { ...cc('max-age=60'), vary: 'Origin, Cookie, Accept-Encoding' }, 60],
    ['Vary: *', { ...cc('max-age=60'), vary: '*' }, 0],
    ['Vary: * among others', { ...cc('max-age=60'), vary: ['accept', 'x , *'] }, 0],
    ['Set-Cookie', { ...cc('max-age=60'), 'set-cookie': 'a=b' }, 0],
    ['Set-Cookie, where all may have it', { ...cc('max-age=60, public'), 'set-cookie': ['a=b', 'c=d'] }, 60],
    ['public alone', cc('public'), 0],
    ['nothing', {}, 0],
  ];
  for (const [name, headers, seconds] of lives) {
    it(`holds an answer for ${seconds} s: ${name}`, () => expect(life(headers)).to.equal(seconds));
  }

  it('counts the time that the answer took', () => {
    expect(life(cc('max-age=60'), 20)).to.equal(40);
    expect(life({ ...cc('max-age=60'), age: '10' }, 20)).to.equal(30);
  });

  it('never holds an answer for longer than its ages say, whatever else it says', () => {
    const value = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.constantFrom('*', '-1', '0', '"', '=', ', ', httpDate(9e8)),
    );
    const names = ['expires', 'age', 'date', 'vary', 'pragma', 'etag', 'last-modified', 'set-cookie'];
    const noise = fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(value, fc.array(value, { maxLength: 3 })),
    );
    const control = fc.array(
      fc.oneof(
        fc.constantFrom(
          'max-age=60',
          'MAX-AGE=30',
          's-maxage=60',
          'public',
          'immutable',
          'stale-if-error=99',
        ),
        fc.string({ maxLength: 12 }).filter((text) => !/max-?age/i.test(text)),
      ),
    );
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

  it('does not keep what gives nothing to ask with and does not last', () => {
    for (const headers of [{}, cc('public'), cc('no-cache'), { etag: 'unquoted' }, { 'last-modified': '1' }])
      expect(policyOf(headers).policy).to.equal(undefined);
    for (const headers of [cc('max-age=1'), { etag: '"a"' }, { 'last-modified': httpDate(-5) }])
      expect(policyOf(headers).policy, JSON.stringify(headers)).to.not.equal(undefined);
  });

  it('does not keep what may have been cut off', () => {
    const judge = createPolicyReader(() => start);
    const moments = { asked: start, came: start };
    expect(judge(asked, cc('max-age=60'), moments)).to.equal(undefined);
    expect(judge(asked, { ...cc('max-age=60'), 'transfer-encoding': 'chunked' }, moments)).to.not.equal(
      undefined,
    );
  });

  it('asks with what the server gave, where that can be sent', () => {
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

  it('remembers no cookie', () => {
    const { policy } = policyOf({
      ...cc('max-age=60, public'),
      'set-cookie': 'secret=1',
      'content-type': 'image/png',
    });
    expect(policy?.fields).to.deep.equal({
      'cache-control': 'max-age=60, public',
      'content-type': 'image/png',
    });
  });

  describe('after a 304', () => {
    const first = { ...cc('max-age=60'), etag: '"a"', 'content-type': 'image/png' };

    it('holds for as long as that says, and keeps what it does not say', () => {
      const { policy, freshAt, moments } = policyOf(first);
      expect(freshAt(100)).to.equal(false);
      const again = policy?.revalidated({ etag: '"a"' }, moments());
      expect(again?.storable).to.equal(true);
      expect(again?.policy.isFresh()).to.equal(true);
      expect(freshAt(161) || again?.policy.isFresh()).to.equal(false);
      const other = policy?.revalidated({ ...cc('max-age=5'), 'content-type': 'text/html' }, moments());
      expect(other?.policy.fields).to.deep.equal({ ...first, ...cc('max-age=5') });
    });

    it('heeds what was not said before', () => {
      const { policy, moments } = policyOf({ etag: '"a"' });
      for (const text of ['no-store', 'private'])
        expect(policy?.revalidated(cc(text), moments())?.storable, text).to.equal(false);
      expect(policy?.revalidated(cc('max-age=9'), moments())?.policy.isFresh()).to.equal(true);
      expect(policy?.revalidated({ vary: '*' }, moments())?.storable).to.equal(false);
      expect(policy?.revalidated({ ...cc('max-age=9'), age: '10' }, moments())?.policy.isFresh()).to.equal(
        false,
      );
    });

    it('takes none that speaks of another answer', () => {
      const { policy, moments } = policyOf({ ...first, 'last-modified': httpDate(-9) });
      expect(policy?.revalidated({ etag: '"b"' }, moments())).to.equal(undefined);
      expect(policy?.revalidated({ etag: 'W/"b"' }, moments())).to.equal(undefined);
      expect(policy?.revalidated({ etag: 'W/"a"' }, moments())).to.not.equal(undefined);
      const dated = policyOf({ 'last-modified': httpDate(-9) });
      expect(dated.policy?.revalidated({ 'last-modified': httpDate(-8) }, dated.moments())).to.equal(
        undefined,
      );
      expect(dated.policy?.revalidated({}, dated.moments())).to.not.equal(undefined);
    });
  });
});
