import type { Dispatcher } from 'undici';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import type { Outcome } from '../cache/cache.js';
import { createGrowingBuffer, type GrowingBuffer } from '../http/body/growing-buffer.js';
import { type Connection, closeConnection } from './connection.js';
import { sourceFailed, sourceTooLarge } from './failure.js';
import { type Framing, headBytes } from './framing.js';
import { ownHeaders } from './own-headers.js';
import { judgeHead, type Wanted } from './response-head.js';

export interface ExchangeOptions extends Wanted {
  /** The `Accept` header. */
  accept: string;
  signal: AbortSignal;
  /** What tells a server of the operator's own of the trace that the request is a part of. */
  trace?: Readonly<Record<string, string>>;
  /** Shared by all requests of one download. */
  framing: Framing;
  /** What is sent by a POST; it is a GET without. */
  post?: { body: Uint8Array; headers: Readonly<Record<string, string>> } | undefined;
  /** Called with 0 when a final head that is taken has come, a redirect's too, then with the length of each piece of the file. */
  onProgress?: ((bytes: number) => void) | undefined;
}

/** How a request ended: with the whole body, or with the `Location` to go on to. */
export type Answer = WholeAnswer | { location: string };

export interface WholeAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Uint8Array<ArrayBuffer>;
  /** How a file that is kept was come by: its bytes serve others too, and must be neither moved nor changed. */
  kept?: Outcome;
}

const maxHeaderBytes = 16 * 1024;

/**
 * One request over `connection`, which is closed afterwards unless it may be kept (`keep`) and the answer came whole and to the
 * byte. Rejects with a `GatewayError`, or with `signal`'s reason the moment it is aborted. undici's `Client` reads the
 * HTTP/1.1; its dispatch interface is used since nothing below it decompresses, buffers or follows.
 */
export async function exchange(
  connection: Connection,
  url: URL,
  options: ExchangeOptions & { keep: boolean },
): Promise<Answer> {
  const { accept, validators, trace, signal, keep, post } = options;
  const headers = { ...ownHeaders, accept, ...validators, ...trace, ...post?.headers };
  const path = url.pathname + url.search;
  const request = { path, method: post ? 'POST' : 'GET', headers, reset: !keep, body: post?.body } as const;
  const state = { whole: false };
  connection.readBefore = Number.POSITIVE_INFINITY;
  try {
    return await new Promise<Answer>((resolve, reject) => {
      signal.throwIfAborted();
      connection.client.dispatch(request, createHandler(connection, options, state, resolve, reject));
    });
  } finally {
    connection.onBytes = undefined;
    // By now all that came with the answer's last bytes has been parsed: what was too much has ended the connection.
    if (!keep || !state.whole) closeConnection(connection);
  }
}

function createHandler(
  connection: Connection,
  { signal, framing, onProgress, ...wanted }: ExchangeOptions,
  state: { whole: boolean },
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  const { maxBytes, anyStatus } = wanted;
  let body: GrowingBuffer | undefined;
  let answered: Pick<WholeAnswer, 'status' | 'headers'> | undefined;
  let answeredByHead = false;
  let fileBytes = 0;
  let heads = 0;
  // An error keeps alive what its stack ran through until somebody reads it: the bytes must not hang on that.
  const end = (error: unknown) => {
    body = undefined;
    state.whole = false;
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
      const { socket } = connection;
      const before = socket.bytesRead;
      connection.readBefore = before;
      connection.onBytes = () => {
        const parsed = socket.bytesRead - socket.readableLength - before;
        if (framing.exceeds(parsed - fileBytes, fileBytes)) stop(controller, tooMuchFraming());
        if (!body && parsed - heads > maxHeaderBytes) stop(controller, tooLongHead());
      };
    },
    onResponseStart(controller, status, received, statusText) {
      const bytes = headBytes(received, statusText);
      heads += bytes;
      if (status < 200) return;
      try {
        if (bytes > maxHeaderBytes) throw tooLongHead();
        const head = judgeHead(status, received, wanted);
        if (head.read) body = createGrowingBuffer(maxBytes, head.length);
        answered = { status, headers: received };
        onProgress?.(0);
        if (head.read) return;
        framing.spend(heads);
        if (framing.exceeds(0, 0)) throw tooMuchFraming();
        answeredByHead = true;
        const { location } = head;
        resolve(location === undefined ? { ...answered, body: new Uint8Array() } : { location });
        // The text that comes with a redirect is not waited for; a 304 has none.
        if (location !== undefined && received['content-length'] !== '0')
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
      state.whole = true;
      if (answeredByHead) return;
      const bytes = body?.bytes();
      if (answered && bytes && (anyStatus || bytes.length > 0)) resolve({ ...answered, body: bytes });
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
