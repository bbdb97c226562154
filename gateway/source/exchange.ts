import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import { createGrowingBuffer, type GrowingBuffer } from '../http/growing-buffer.js';
import { sourceFailed, sourceTooLarge } from './failure.js';
import { judgeHead } from './response-head.js';

/** How a request ended: with the whole body, or with the `Location` to go on to. */
export type Answer = { body: Uint8Array<ArrayBuffer> } | { location: string };

/** All that a source learns of the gateway: no key, cookie, referrer or client address goes out. */
const headers = {
  'user-agent': 'helper-gateway',
  accept: 'image/*',
  'accept-encoding': 'identity',
};
const maxHeaderBytes = 16 * 1024;

/**
 * One GET over `socket`, which is closed in every case: nothing that one tenant's source left on a connection can meet
 * another's request. Rejects with a `GatewayError`, or with `signal`'s reason the moment it is aborted. undici's `Client`
 * reads the HTTP/1.1; its dispatch interface is used since nothing below it decompresses, buffers or follows.
 */
export async function exchange(
  socket: Socket,
  url: URL,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Answer> {
  const client = new Client(url.origin, {
    // Not at once: the client ignores a socket that comes while it is still asking for one.
    connect: (_options, callback) => queueMicrotask(() => callback(null, socket)),
    maxHeaderSize: maxHeaderBytes,
    // The deadline over the whole download stands in for both.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
  try {
    return await new Promise<Answer>((resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      const request = { path: url.pathname + url.search, method: 'GET', headers, reset: true } as const;
      client.dispatch(request, createHandler(socket, maxBytes, resolve, reject));
    });
  } finally {
    socket.destroy();
    client.destroy().catch(() => {});
  }
}

function createHandler(
  socket: Socket,
  maxBytes: number,
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  let body: GrowingBuffer | undefined;
  // The promise is settled before the abort: the abort's own error, which comes back through
  // onResponseError, is then the second and counts for nothing.
  const stop = (controller: Dispatcher.DispatchController, error: Error) => {
    reject(error);
    controller.abort(error);
  };
  return {
    onRequestStart(controller) {
      // Interim responses, chunk extensions and trailers are no body; counted on the wire, they end too.
      const maxWireBytes = socket.bytesRead + maxBytes * 1.25 + 4 * maxHeaderBytes;
      socket.on('readable', () => {
        if (socket.bytesRead > maxWireBytes) {
          stop(controller, sourceFailed('The server behind the url sent more framing than file.'));
        }
      });
    },
    onResponseStart(controller, status, received) {
      if (status < 200) return;
      try {
        const head = judgeHead(status, received, maxBytes);
        if (head.read) {
          body = createGrowingBuffer(maxBytes, head.length);
          return;
        }
        resolve({ location: head.location });
        controller.abort(new Error('redirected'));
      } catch (error) {
        stop(controller, error as Error);
      }
    },
    onResponseData(controller, chunk) {
      if (!body?.add(chunk)) stop(controller, sourceTooLarge(maxBytes));
    },
    onResponseEnd() {
      const bytes = body?.bytes();
      if (bytes?.length) resolve({ body: bytes });
      else reject(sourceFailed('The server behind the url sent an empty file.'));
    },
    onResponseError(_controller, error) {
      reject(sourceFailed('The server behind the url broke off, or does not speak HTTP/1.1.', error));
    },
  };
}
