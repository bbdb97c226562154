import type { IncomingMessage } from 'node:http';
import { type GatewayError, inputError } from '../../errors.js';
import type { Ending } from '../ending.js';

export interface Watch {
  /** Told of the bytes of each piece of the body. */
  onBytes(bytes: number): void;
  /** Ends the reading with its reason. */
  ending: Ending;
}

/** A small body may come as its client makes it, byte by byte; of a larger one each small piece costs as much as a large one. */
const freeBytes = 64 * 1024;
const leastPiece = 32;

/**
 * Waits for `reading`, which has just begun to read the request's body, and tells of its bytes as they come. Ends it with its
 * ending's reason, or where the body comes in pieces of a few bytes (chunks of HTTP): a megabyte of single ones holds the main
 * thread for seconds.
 */
export function meter<T>(
  request: IncomingMessage,
  reading: Promise<T>,
  { onBytes, ending }: Watch,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let pieces = 0;
    let bytes = 0;
    const stop = () => {
      request.off('data', count);
      ending.unlisten();
    };
    const end = (reason: unknown) => {
      stop();
      reject(reason);
      // raw-body stops at this event and forgets what it has gathered; `discardBody` reads on.
      request.emit('aborted');
    };
    const count = (piece: Uint8Array) => {
      pieces += 1;
      bytes += piece.length;
      if (bytes > freeBytes && bytes < pieces * leastPiece) end(tooFine());
      else onBytes(piece.length);
    };
    reading.then(resolve, reject).finally(stop);
    request.on('data', count);
    ending.listen(end);
  });
}

function tooFine(): GatewayError {
  const problem = `must come in larger chunks: these hold less than ${leastPiece} bytes on average`;
  return inputError([{ field: 'body', problem }]);
}
