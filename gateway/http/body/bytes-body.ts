import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { inputError } from '../../errors.js';
import { createGrowingBuffer } from './growing-buffer.js';
import { readInto } from './read-into.js';
import { bodyTooLarge } from './text-body.js';

/** A promised length is believed when so much has come. */
const firstBytes = 1024 * 1024;

/**
 * Reads a body of many megabytes as bytes, gathered where they stay: to put its pieces together at the end would hold the main
 * thread for a tenth of a second. Rejects with `too_large`, `invalid_input` where it breaks off, or with `signal`'s reason.
 */
export function readBytes(
  request: Readable & { headers?: IncomingHttpHeaders },
  { maxBytes, signal }: { maxBytes: number; signal?: AbortSignal | undefined },
): Promise<Uint8Array<ArrayBuffer>> {
  const promised = Number(request.headers?.['content-length'] ?? firstBytes);
  const open = () => {
    let buffer = createGrowingBuffer(maxBytes, promised, firstBytes);
    return {
      write(chunk: Uint8Array) {
        if (!buffer.add(chunk)) throw bodyTooLarge(maxBytes);
      },
      end: () => buffer.bytes(),
      drop() {
        buffer = createGrowingBuffer(0);
      },
    };
  };
  return readInto(request, open, { signal, brokenOff });
}

function brokenOff(cause?: Error) {
  const problem = 'must be complete, as long as its Content-Length says';
  return inputError([{ field: 'body', problem }], cause);
}
