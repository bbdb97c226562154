import type { Dispatcher } from 'undici';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import type { CacheStatus } from '../cache.js';
import { createGrowingBuffer, type GrowingBuffer } from '../http/body.js';
import { type Connection, closeConnection, ownHeaders } from './connection.js';
import type { Validators } from './http-cache.js';
import { sourceFailed, sourceTooLarge } from './url.js';

export interface ExchangeOptions extends ResponseLimits {
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
export type HopAnswer = WholeAnswer | { location: string };

export interface WholeAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Uint8Array<ArrayBuffer>;
  /** How a file that is kept was come by: its bytes serve others too, and must be neither moved nor changed. */
  kept?: CacheStatus;
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
    // By now all that came with the answer's last bytes has been parsed: what was too much has ended the connection.
    if (!keep || !state.whole) closeConnection(connection);
  }
}

function createHandler(
  connection: Connection,
  { signal, framing, onProgress, ...wanted }: ExchangeOptions,
  state: { whole: boolean },
  resolve: (answer: HopAnswer) => void,
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
        const head = checkHead(status, received, wanted);
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

/**
 * What to do after a response's head: read a body (`length` in bytes if it was announced), go elsewhere, or take the head for
 * the whole answer.
 */
type HeadOutcome = { read: true; length: number | undefined } | { read: false; location: string | undefined };

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** What is taken of answers. */
interface ResponseLimits {
  /** Bytes of a body at most. */
  maxBytes: number;
  /** Whether an answer of any status is taken, and one without a body; else only a file is, which comes with 200. */
  anyStatus?: boolean | undefined;
  /** Whether the head is all that is taken, of whatever status; else a redirect is gone after and a body read. */
  headOnly?: boolean | undefined;
  /** Asks whether something still holds: only then does a 304 say anything. */
  validators?: Validators | undefined;
}

/** Judges status and headers of a final response. Pure; throws a `GatewayError` for what is not taken. */
export function checkHead(
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
  // Not decoded here, ever: a few kilobytes may hold gigabytes.
  if (encoded.length > 0 || transferred.length > 0) {
    throw sourceFailed('The server behind the url sent its answer compressed, although asked not to.');
  }
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  if (length !== undefined && !(length <= maxBytes)) throw sourceTooLarge(maxBytes);
  if (length === 0 && !anyStatus) throw sourceFailed('The server behind the url sent an empty file.');
  return { read: true, length };
}

function locationOf(status: number, headers: IncomingHttpHeaders): string {
  const { location } = headers;
  if (typeof location !== 'string' || location === '') {
    throw sourceFailed(`The server behind the url answered ${status} without saying where to go.`);
  }
  // Header bytes arrive as Latin-1; what servers put there unescaped is UTF-8.
  return Buffer.from(location, 'latin1').toString('utf8');
}

function codings(value: string | string[] | undefined): string[] {
  return [value ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '');
}

/**
 * What a download may bring besides the file, over all its redirects: interim responses, headers, chunk sizes and extensions,
 * trailers. Each piece of it costs main-thread time that no limit on the file's bytes sees: a chunk of one byte costs
 * as much as one of 64 KB.
 */
interface Framing {
  /** Whether a hop that has sent `bytes` besides `fileBytes` of a file has gone too far. */
  exceeds(bytes: number, fileBytes: number): boolean;
  /** Takes what a hop has sent, from what later ones may send. */
  spend(bytes: number): void;
}

const maxFramingBytes = 64 * 1024;
/** A file in chunks of 100 bytes, which is as small as servers make them, has six bytes of framing to each. */
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

/** Bytes of a response's head as it stood on the wire: what came with it may be body, which is not to be counted. */
export function headBytes(headers: IncomingHttpHeaders, statusText = ''): number {
  const lines = Object.entries(headers).flatMap(([name, values = '']) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`.length),
  );
  return lines.reduce((sum, line) => sum + line, `HTTP/1.1 200 ${statusText}\r\n\r\n`.length);
}
