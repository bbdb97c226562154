import { expect } from 'chai';
import fc from 'fast-check';
import { inPieces, pieceBytes } from '../../../../gateway/http/flow/pieces.js';

describe('inPieces', () => {
  it('gives every byte once, in pieces, and tells of each that was taken', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(3 * pieceBytes), async (length) => {
        const bytes = new Uint8Array(length).map((_, at) => at % 251);
        let taken = 0;
        const pieces: Uint8Array[] = [];
        for await (const piece of inPieces(bytes, (count) => (taken += count))) pieces.push(piece);
        expect(Buffer.concat(pieces).equals(Buffer.from(bytes))).to.equal(true);
        expect(Math.max(0, ...pieces.map((piece) => piece.length))).to.be.at.most(pieceBytes);
        expect(taken).to.equal(length);
      }),
      { numRuns: 20 },
    );
  });
});
