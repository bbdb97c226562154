import type { ServerResponse } from 'node:http';

/** Bytes handed to the connection at a time. */
export const pieceBytes = 64 * 1024;

/** Bytes handed over in one turn of the event loop, should a client take them as fast as they come. */
const turnBytes = 16 * pieceBytes;

/**
 * Sends bytes as the body of an answer, in pieces, each when the one before has been taken: of a whole buffer the connection tells
 * nothing until its last byte is gone, and a client that reads slowly looks like one that does not read. What the system takes at
 * once, which is all of most pictures, is waited for by nobody: a stream would cost as much again as all else that a kept picture
 * does. The memory stays until the end; `onTaken` is told what has been taken before more is sent.
 */
export function sendInPieces(
  response: ServerResponse,
  bytes: Uint8Array,
  onTaken: (bytes: number) => void,
): void {
  let at = 0;

  function send(): void {
    // A client that has gone takes nothing more, and nobody waits for the rest.
    if (response.destroyed) return;
    const from = at;
    while (at + pieceBytes < bytes.length && at - from < turnBytes) {
      write(response, bytes.subarray(at, at + pieceBytes));
      at += pieceBytes;
      if (response.writableLength > 0) return goOn('drain', at - from);
    }
    if (at + pieceBytes < bytes.length) goOn('turn', at - from);
    else response.end(bytes.subarray(at));
  }

  function goOn(when: 'drain' | 'turn', sent: number): void {
    const next = () => {
      onTaken(sent);
      send();
    };
    if (when === 'drain') response.once('drain', next);
    else setImmediate(next);
  }

  send();
}

/** Hands bytes to the system now, with the head where that has not gone: Node would wait for the end of this turn. */
function write(response: ServerResponse, piece: Uint8Array): void {
  const { socket } = response;
  socket?.cork();
  response.write(piece);
  socket?.uncork();
}
