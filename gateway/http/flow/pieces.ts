import { Readable } from 'node:stream';

/** Bytes handed to the connection at a time. */
export const pieceBytes = 64 * 1024;

/**
 * Bytes as a stream of pieces, each handed on when the one before has been taken: of a whole buffer the connection tells
 * nothing until its last byte is gone, and a client that reads slowly looks like one that does not read. The memory stays
 * until the end; `onTaken` is told of each piece when the next is asked for.
 */
export function inPieces(bytes: Uint8Array, onTaken: (bytes: number) => void): Readable {
  let at = 0;
  let last = 0;
  return new Readable({
    highWaterMark: 1,
    read() {
      if (last > 0) onTaken(last);
      const piece = bytes.subarray(at, at + pieceBytes);
      at += piece.length;
      last = piece.length;
      this.push(piece.length > 0 ? piece : null);
    },
  });
}
