import type { Socket } from 'node:net';
import { Client, type Dispatcher } from 'undici';
import { createGrowingBuffer, type GrowingBuffer } from '../http/body/growing-buffer.js';
import { sourceFailed, sourceTooLarge } from './failure.js';
import { type Framing, headBytes } from './framing.js';
import { judgeHead } from './response-head.js';

export interface ExchangeOptions {
  /** Bytes of a file at most. */
  maxBytes: number;
  signal: AbortSignal;
  /** Shared by all requests of one download. */
  framing: Framing;
  /** Called with 0 when a final head that is taken has come, a redirect's too, then with the length of each piece of the file. */
  onProgress?: ((bytes: number) => void) | undefined;
}

/** How a request ended: with the whole body, or with the `Location` to go on to. */
export type Answer = { body: Uint8Array<ArrayBuffer> } | { location: string };

/** All that a source learns of the gateway: no key, cookie, referrer or client address goes out. */
const headers = {
  'user-agent': 'helper-gateway',
  accept: 'image/*',
  'accept-encoding': 'identity',
};
const maxHeaderBytes = 16 * 1024;
/** undici makes an error of every header past its limit, which costs more than reading them: this one is never met. */
const clientHeaderBytes = 1024 * 1024;

/**
 * One GET over `socket`, which is closed in every case: nothing that one tenant's source left on a connection can meet
 * another's request. Rejects with a `GatewayError`, or with `signal`'s reason the moment it is aborted. undici's `Client`
 * reads the HTTP/1.1; its dispatch interface is used since nothing below it decompresses, buffers or follows.
 */
export async function exchange(socket: Socket, url: URL, options: ExchangeOptions): Promise<Answer> {
  const { signal } = options;
  const client = new Client(url.origin, {
    // Not at once: the client ignores a socket that comes while it is still asking for one.
    connect: (_options, callback) => queueMicrotask(() => callback(null, socket)),
    maxHeaderSize: clientHeaderBytes,
    // The deadline over the whole download stands in for both.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
  try {
    return await new Promise<Answer>((resolve, reject) => {
      signal.throwIfAborted();
      const request = { path: url.pathname + url.search, method: 'GET', headers, reset: true } as const;
      client.dispatch(request, createHandler(socket, options, resolve, reject));
    });
  } finally {
    socket.destroy();
    client.destroy().catch(() => {});
  }
}

function createHandler(
  socket: Socket,
  { maxBytes, signal, framing, onProgress }: ExchangeOptions,
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  let body: GrowingBuffer | undefined;
  let fileBytes = 0;
  let heads = 0;
  // An error keeps alive what its stack ran through until somebody reads it: the bytes must not hang on that.
  const end = (error: unknown) => {
    body = undefined;
    reject(error);
  };
  signal.addEventListener('abort', () => end(signal.reason), { once: true });
  // The promise is settled before the abort: the abort's own error, which comes back through
  // onResponseError, is then the second and counts for nothing.
  const stop = (controller: Dispatcher.DispatchController, error: Error) => {
    end(error);
    controller.abort(error);
  };
  return {
    onRequestStart(controller) {
      const before = socket.bytesRead;
      // After the client's own listener, when all that it took from the socket has been parsed.
      socket.on('readable', () => {
        const parsed = socket.bytesRead - socket.readableLength - before;
        if (framing.exceeds(parsed - fileBytes, fileBytes)) stop(controller, tooMuchFraming());
        if (!body && parsed - heads > maxHeaderBytes) stop(controller, tooLongHead());
      });
    },
    onResponseStart(controller, status, received, statusText) {
      const bytes = headBytes(received, statusText);
      heads += bytes;
      if (status < 200) return;
      try {
        if (bytes > maxHeaderBytes) throw tooLongHead();
        const head = judgeHead(status, received, maxBytes);
        if (head.read) body = createGrowingBuffer(maxBytes, head.length);
        onProgress?.(0);
        if (head.read) return;
        framing.spend(heads);
        if (framing.exceeds(0, 0)) throw tooMuchFraming();
        resolve({ location: head.location });
        controller.abort(new Error('redirected'));
      } catch (error) {
        stop(controller, error as Error);
      }
    },
    onResponseData(controller, chunk) {
      fileBytes += chunk.length;
      if (body?.add(chunk)) onProgress?.(chunk.length);
      else stop(controller, sourceTooLarge(maxBytes));
    },
    onResponseEnd() {
      const bytes = body?.bytes();
      if (bytes?.length) resolve({ body: bytes });
      else end(sourceFailed('The server behind the url sent an empty file.'));
    },
    onResponseError(_controller, error) {
      end(sourceFailed('The server behind the url broke off, or does not speak HTTP/1.1.', error));
    },
  };
}

function tooLongHead(): Error {
  return sourceFailed(`The server behind the url sent headers of more than ${maxHeaderBytes} bytes.`);
}

function tooMuchFraming(): Error {
  return sourceFailed('The server behind the url sent too much besides a file: headers, or tiny chunks.');
}
