import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { cacheControl, digestOf, digestOfFile, isNamed, tagOf } from '../../../gateway/pipeline/reuse.js';

/** Whether they are the same to a handler; the order of an object's fields is nothing to it. */
function areSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  const others = Object.keys(b);
  const field = (value: object, name: string) => (value as Record<string, unknown>)[name];
  return (
    names.length === others.length &&
    names.every((name) => Object.hasOwn(b, name) && areSame(field(a, name), field(b, name)))
  );
}

/** Few letters, so that pairs are alike more often than not. */
const word = fc.string({ unit: fc.constantFrom('a', '"', ',', ':', '[', '{', '\\', '1'), maxLength: 3 });
const { input } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    word,
    fc.constantFrom(
      0,
      -0,
      1,
      1.5,
      '1',
      '0',
      '-0',
      true,
      'true',
      false,
      null,
      'null',
      Number.POSITIVE_INFINITY,
    ),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('input'),
  ),
  input: fc.dictionary(word, tie('value'), { maxKeys: 3 }),
}));

function turnedRound(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(turnedRound);
  const fields = Object.entries(value).map(([name, each]) => [name, turnedRound(each)]);
  return Object.fromEntries(fields.toReversed());
}

describe('the tag of what a result is made of', () => {
  it('differs for any two inputs that differ, and for no others', () => {
    fc.assert(
      fc.property(input, input, (a, b) => {
        expect(tagOf(a) === tagOf(b)).to.equal(areSame(a, b));
      }),
      { numRuns: 5_000 },
    );
  });

  it('is the same in whatever order the fields come, at any depth', () => {
    fc.assert(
      fc.property(input, (each) => {
        expect(tagOf(turnedRound(each))).to.equal(tagOf(each));
      }),
    );
  });

  it('fits into a header as it is', () => {
    expect(tagOf({ text: '"é\u{1f600}\ud800' })).to.match(/^[\w-]{43}$/);
  });
});

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64url');

describe('the digest of bytes', () => {
  for (const size of [0, 1, 128 * 1024, 128 * 1024 + 1, 3_000_000]) {
    it(`is the SHA-256 of ${size} bytes, wherever they are hashed`, async () => {
      const bytes = randomBytes(size);
      expect(await digestOf(bytes)).to.equal(sha256(bytes));
    });
  }

  it('is of the view alone, not of the memory around it', async () => {
    const memory = randomBytes(1_000_000);
    const view = memory.subarray(1000, 900_000);
    expect(await digestOf(view)).to.equal(sha256(view));
  });

  it('is made once of what several calls use', async () => {
    const bytes = randomBytes(1_000_000);
    const shared = { bytes, type: 'image/png', shared: true } as const;
    const first = digestOfFile(shared);
    expect(digestOfFile({ ...shared, name: 'other' })).to.equal(first);
    expect(await first).to.equal(sha256(bytes));
    expect(digestOfFile({ bytes, type: 'image/png' })).not.to.equal(first);
  });
});

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
