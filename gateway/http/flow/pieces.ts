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
    let isTaken = true;
    while (isTaken && at + pieceBytes < bytes.length && at - from < turnBytes) {
      isTaken = write(response, bytes.subarray(at, at + pieceBytes));
      at += pieceBytes;
    }
    const goOn = () => {
      onTaken(at - from);
      send();
    };
    if (!isTaken) response.once('drain', goOn);
    else if (at + pieceBytes < bytes.length) setImmediate(goOn);
    else response.end(bytes.subarray(at));
  }

  send();
}

/** Hands bytes to the system now, with the head where that has not gone: Node would wait for the end of this turn. Gives whether it took all. */
function write(response: ServerResponse, piece: Uint8Array): boolean {
  const { socket } = response;
  socket?.cork();
  response.write(piece);
  socket?.uncork();
  return response.writableLength === 0;
}
