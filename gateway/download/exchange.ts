import type { Dispatcher } from 'undici';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import type { CacheStatus } from '../cache.js';
import { createGrowingBuffer, type GrowingBuffer } from '../http/body.js';
import { type Connection, closeConnection, ownHeaders } from './connection.js';
import type { Validators } from './http-cache.js';
import { sourceFailed, sourceTooLarge } from './url.js';

/** Which answers are accepted. */
interface ResponseLimits {
  /** Bytes of a body at most. */
  maxBytes: number;
  /** Accepts any status, and an empty body; else only a file with status 200 is. */
  anyStatus?: boolean | undefined;
  /** Accepts the head alone, of any status; else a redirect is followed and a body read. */
  headOnly?: boolean | undefined;
  /** Makes the request conditional: only then does a 304 mean anything. */
  validators?: Validators | undefined;
}

export interface ExchangeOptions extends ResponseLimits {
  /** The `Accept` header. */
  accept: string;
  signal: AbortSignal;
  /** Trace context, for a server of the operator's own. */
  trace?: Readonly<Record<string, string>>;
  /** Shared by all requests of one download. */
  framing: Framing;
  /** Makes the request a POST. */
  post?: { body: Uint8Array; headers: Readonly<Record<string, string>> } | undefined;
  /** Called with 0 for an accepted final head, a redirect's too, then with the length of each chunk of the file. */
  onProgress?: ((bytes: number) => void) | undefined;
}

/** A whole answer, or the `Location` to go on to. */
export type HopAnswer = WholeAnswer | { location: string };

export interface WholeAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Uint8Array<ArrayBuffer>;
  /** Set where the bytes are in the cache: others use them, so they must be neither transferred nor changed. */
  cacheStatus?: CacheStatus;
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
): Promise<HopAnswer> {
  const { accept, validators, trace, signal, keep, post } = options;
  const headers = { ...ownHeaders, accept, ...validators, ...trace, ...post?.headers };
  const path = url.pathname + url.search;
  const request = { path, method: post ? 'POST' : 'GET', headers, reset: !keep, body: post?.body } as const;
  const state = { whole: false };
  connection.readBefore = Number.POSITIVE_INFINITY;
  try {
    return await new Promise<HopAnswer>((resolve, reject) => {
      signal.throwIfAborted();
      connection.client.dispatch(request, createHandler(connection, options, state, resolve, reject));
    });
  } finally {
    connection.onBytes = undefined;
    // By now all that came with the answer's last bytes has been parsed: surplus bytes have ended the connection.
    if (!keep || !state.whole) closeConnection(connection);
  }
}

function createHandler(
  connection: Connection,
  { signal, framing, onProgress, ...limits }: ExchangeOptions,
  state: { whole: boolean },
  resolve: (answer: HopAnswer) => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  const { maxBytes, anyStatus } = limits;
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
  // Rejects before the abort, whose own error comes back through onResponseError and is ignored as the second.
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
        const head = checkHead(status, received, limits);
        if (head.read) body = createGrowingBuffer(maxBytes, head.length);
        answered = { status, headers: received };
        onProgress?.(0);
        if (head.read) return;
        framing.spend(heads);
        if (framing.exceeds(0, 0)) throw tooMuchFraming();
        answeredByHead = true;
        const { location } = head;
        resolve(location === undefined ? { ...answered, body: new Uint8Array() } : { location });
        // The text that comes with a redirect is not read; a 304 has none.
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
      else end(emptyFile());
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

function emptyFile(): Error {
  return sourceFailed('The server behind the url sent an empty file.');
}

/** What follows a head: a body (`length` in bytes if announced), a redirect, or nothing. */
type HeadOutcome = { read: true; length: number | undefined } | { read: false; location: string | undefined };

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Checks status and headers of a final response. Pure; throws a `GatewayError` for one that is not accepted. */
function checkHead(
  status: number,
  headers: IncomingHttpHeaders,
  { maxBytes, anyStatus = false, headOnly = false, validators }: ResponseLimits,
): HeadOutcome {
  if (headOnly) return { read: false, location: undefined };
  if (redirectStatuses.has(status)) return { read: false, location: locationOf(status, headers) };
  if (status === 304 && validators) return { read: false, location: undefined };
  if (status !== 200 && !anyStatus) throw sourceFailed(`The server behind the url answered ${status}.`);
  const encoded = codings(headers['content-encoding']).filter((coding) => coding !== 'identity');
  const transferred = codings(headers['transfer-encoding']).filter((coding) => coding !== 'chunked');
  // Never decoded here: a few kilobytes may hold gigabytes.
  if (encoded.length > 0 || transferred.length > 0) {
    throw sourceFailed('The server behind the url sent its answer compressed, although asked not to.');
  }
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  if (length !== undefined && !(length <= maxBytes)) throw sourceTooLarge(maxBytes);
  if (length === 0 && !anyStatus) throw emptyFile();
  return { read: true, length };
}

function locationOf(status: number, { location }: IncomingHttpHeaders): string {
  if (typeof location !== 'string' || location === '') {
    throw sourceFailed(`The server behind the url answered ${status} without saying where to go.`);
  }
  // Header bytes arrive as Latin-1; what servers put there unescaped is UTF-8.
  return Buffer.from(location, 'latin1').toString('utf8');
}

function codings(value: string | string[] = []): string[] {
  return [value]
    .flat()
    .flatMap((line) => line.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '');
}

/**
 * Bounds what a download brings besides the file, over all its redirects: interim responses, headers, chunk sizes and extensions,
 * trailers. Each costs main-thread time that no limit on the file's bytes sees: a chunk of one byte costs as much as one of 64 KB.
 */
export interface Framing {
  /** Whether a hop that has sent `bytes` besides `fileBytes` of a file has gone too far. */
  exceeds(bytes: number, fileBytes: number): boolean;
  /** Subtracts what a hop has sent from the budget of later ones. */
  spend(bytes: number): void;
}

const maxFramingBytes = 64 * 1024;
/** A file in chunks of 100 bytes, the smallest that servers make, has six bytes of framing to each. */
const fileBytesPerByte = 16;

export function createFraming(): Framing {
  let spent = 0;
  return {
    exceeds: (bytes, fileBytes) => spent + bytes > maxFramingBytes + fileBytes / fileBytesPerByte,
    spend(bytes) {
      spent += bytes;
    },
  };
}

/** Bytes of a response's head on the wire: what came with it may be body, which must not count. */
function headBytes(headers: IncomingHttpHeaders, statusText = ''): number {
  const lines = Object.entries(headers).flatMap(([name, values = '']) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`.length),
  );
  return lines.reduce((sum, line) => sum + line, `HTTP/1.1 200 ${statusText}\r\n\r\n`.length);
}
