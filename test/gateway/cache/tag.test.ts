import { expect } from 'chai';
import fc from 'fast-check';
import { tagOf } from '../../../gateway/cache/tag.js';

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
