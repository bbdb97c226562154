import { expect } from 'chai';
import fc from 'fast-check';
import { applyHunks } from './apply.js';
import { diff } from './diff.js';

const line = fc.oneof(fc.constantFrom('', 'a', 'b', 'c', '\r', '+', '-', '@@'), fc.string({ maxLength: 3 }));
const lines = fc.array(
  line.map((text) => text.replaceAll('\n', '')),
  { maxLength: 30 },
);
// Both texts end in a newline, so that no marker is in the way; those are the peers' to judge.
const text = (content: string[]) => content.map((one) => `${one}\n`).join('');

describe('text/diff-two-strings, hunks applied', () => {
  it('give the new text with any context', () => {
    fc.assert(
      fc.property(lines, lines, fc.integer({ min: 0, max: 5 }), (a, b, context) => {
        expect(applyHunks(a, diff(text(a), text(b), { context }))).to.deep.equal(b);
      }),
      { numRuns: 500 },
    );
  });

  it('give the new text for a few edits of a long one', () => {
    const edits = fc.array(fc.tuple(fc.nat(199), fc.nat(3), lines), { maxLength: 6 });
    const long = fc.array(fc.constantFrom<string[]>('a', 'b', 'c', 'd', 'e'), {
      minLength: 200,
      maxLength: 200,
    });
    fc.assert(
      fc.property(long, edits, fc.integer({ min: 0, max: 5 }), (a, changes, context) => {
        const b = a.slice();
        for (const [at, count, inserted] of changes) b.splice(at, count, ...inserted);
        expect(applyHunks(a, diff(text(a), text(b), { context }))).to.deep.equal(b);
      }),
      { numRuns: 200 },
    );
  });
});
