import { expect } from 'chai';
import fc from 'fast-check';
import { cacheControl, isNamed } from '../../../gateway/cache/conditions.js';

describe('If-None-Match', () => {
  const etag = '"abc"';
  for (const named of ['"abc"', 'W/"abc"', '"x", "abc"', '"x",W/"abc" , "y"', '"a,b","abc"', '"","abc"']) {
    it(`names an entity tag as ${named}`, () => {
      expect(isNamed(named, etag)).to.equal(true);
    });
  }
  for (const other of ['', '*', 'abc', '"ABC"', '"abcd"', '"ab" "c"', 'W/"x"', '"abc', "'abc'", '"x" abc']) {
    it(`does not as ${other || 'nothing'}`, () => {
      expect(isNamed(other, etag)).to.equal(false);
    });
  }

  it('compares weakly with a tag that is weak itself', () => {
    expect(isNamed('"abc"', 'W/"abc"')).to.equal(true);
  });

  it('finds a tag in any list of tags, and only there', () => {
    const tag = fc.stringMatching(/^[!#-~]{0,6}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(tag, fc.boolean())), tag, (tags, wanted) => {
        const list = tags.map(([each, isWeak]) => `${isWeak ? 'W/' : ''}"${each}"`).join(', ');
        expect(isNamed(list, `"${wanted}"`)).to.equal(tags.some(([each]) => each === wanted));
      }),
    );
  });
});

describe('Cache-Control', () => {
  const now = 1_000_000_500;
  const of = (left: number, ttlSeconds: number) =>
    cacheControl({ signedUntil: 1_000_000 + left }, { ttlSeconds, now });

  it('keeps what was made for a key from every cache', () => {
    expect(cacheControl({}, { ttlSeconds: 3600, now })).to.equal('private, no-store');
  });

  it('lets what a signed url brings be kept as long as the operator lets it', () => {
    expect(of(86_400, 3600)).to.equal('public, max-age=3600');
  });

  it('lets nothing outlive its url, by no part of a second', () => {
    expect(of(100, 3600)).to.equal('public, max-age=99');
    expect(of(0, 3600)).to.equal('public, max-age=0');
    expect(of(-100, 3600)).to.equal('public, max-age=0');
  });
});
