import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import { lookup } from 'mime-types';
import { GatewayError, inputError } from '../errors.js';

/** Loads koa-body, which takes a tenth of a second for parsers and a validator that nothing here uses. */
export const loadKoaBody = () => import('koa-body');

/**
 * Reads the body of a request as bytes. koa-body reads and bounds it; its own parsers of JSON and forms hide repeated names
 * and take time that grows faster than the body. Rejects with `too_large`, `unsupported_media_type` where it is compressed,
 * `invalid_input` where it breaks off, or the signal's reason.
 */
export function createTextReader({
  maxBytes,
  types,
}: {
  maxBytes: number;
  /** Media types that are read. */
  types: string[];
}): (ctx: Context, watch?: BodyWatch) => Promise<Uint8Array> {
  let reader: ReturnType<typeof open> | undefined;

  async function open() {
    const { HttpMethodEnum, koaBody } = await loadKoaBody();
    return koaBody({
      json: false,
      urlencoded: false,
      text: true,
      textTypes: types,
      textLimit: maxBytes,
      parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
      // Bytes, not text: UTF-8 is checked later.
      encoding: '',
    });
  }

  return async function readText(ctx, watch) {
    reader ??= open();
    const read = await reader;
    const { request } = ctx as Context & { request: { body?: unknown } };
    const reading = read(ctx, async () => undefined);
    try {
      await (watch ? meterBody(ctx.req, reading, watch) : reading);
    } catch (error) {
      throw bodyError(error, maxBytes);
    }
    const { body } = request;
    // The request lives as long as its call, and would hold the text beside what is made of it.
    request.body = undefined;
    return body instanceof Uint8Array ? body : new Uint8Array();
  };
}

/**
 * A body of so many bytes that came whole with its head, as most small ones do; undefined for any other. koa-body and what it takes
 * beside it (events, a promise, a budget's entry) cost a quarter of a small call's CPU.
 */
export function readWhole(request: IncomingMessage, bytes: number): Uint8Array | undefined {
  const isHere = request.readableLength === bytes && !request.destroyed;
  if (!isHere || request.headers.expect !== undefined) return undefined;
  const body = request.read() as Uint8Array | null;
  // Its end has yet to be read.
  request.resume();
  wholeBodies.add(request);
  return body ?? undefined;
}

const wholeBodies = new WeakSet<IncomingMessage>();

/** Whether all of a body has come. Node's parser tells a request's end only after what its last bytes have caused. */
export function isComplete(request: IncomingMessage): boolean {
  return request.complete || wholeBodies.has(request);
}

/** raw-body's errors carry `status`, also where the client went away. */
function bodyError(error: unknown, maxBytes: number): unknown {
  if (error instanceof GatewayError) return error;
  const { status } = error as { status?: number };
  if (status === 413) return bodyTooLarge(maxBytes);
  return status === undefined || status >= 500 ? error : incompleteBody(error);
}

export function bodyTooLarge(maxBytes: number): GatewayError {
  return new GatewayError('too_large', {
    message: `The body is larger than the ${maxBytes} bytes that are accepted here.`,
  });
}

function incompleteBody(cause?: unknown): GatewayError {
  const problem = 'must be complete, as long as its Content-Length says';
  return inputError([{ field: 'body', problem }], cause);
}

/** Whether a request brings a body, by its headers. */
export function hasBody(headers: NodeJS.Dict<string | string[]>): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  return headers['content-length'] !== undefined && headers['content-length'] !== '0';
}

/** Bytes of the body that a request brings, by its headers: 0 for none, infinite where they do not say. */
export function announcedBytes(headers: NodeJS.Dict<string | string[]>): number {
  if (!hasBody(headers)) return 0;
  const length = headers['content-length'];
  return headers['transfer-encoding'] === undefined ? Number(length) : Number.POSITIVE_INFINITY;
}

/** Throws for a compressed body: it is never decoded, for a few kilobytes may hold gigabytes. */
export function requirePlain(ctx: Pick<Context, 'get'>, options: { message?: string } = {}): void {
  const encoding = ctx.get('content-encoding');
  if (encoding !== '' && encoding !== 'identity') throw new GatewayError('unsupported_media_type', options);
}

export interface BodyWatch {
  /** Called with the length of each chunk of the body. */
  onBytes(bytes: number): void;
  /** Ends the reading with its reason. */
  signal: AbortSignal;
}

/** A small body may come byte by byte; of a larger one each small chunk costs as much as a large one. */
const freeBytes = 64 * 1024;
const leastMeanChunk = 32;

/**
 * Waits for `reading`, which has just begun to read the request's body, and reports its bytes as they come. Ends it with its
 * signal's reason, or where the body comes in chunks of a few bytes: a megabyte of single ones blocks the main thread for seconds.
 */
export function meterBody<T>(
  request: IncomingMessage,
  reading: Promise<T>,
  { onBytes, signal }: BodyWatch,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let chunks = 0;
    let bytes = 0;
    const stop = () => {
      request.off('data', count);
      signal.removeEventListener('abort', abort);
    };
    const end = (reason: unknown) => {
      stop();
      reject(reason);
      // raw-body stops at this event and forgets what it has gathered.
      request.emit('aborted');
    };
    const abort = () => end(signal.reason);
    const count = (chunk: Uint8Array) => {
      chunks += 1;
      bytes += chunk.length;
      if (bytes > freeBytes && bytes < chunks * leastMeanChunk) end(tinyChunks());
      else onBytes(chunk.length);
    };
    reading.then(resolve, reject).finally(stop);
    request.on('data', count);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
}

function tinyChunks(): GatewayError {
  const problem = `must come in larger chunks: these hold less than ${leastMeanChunk} bytes on average`;
  return inputError([{ field: 'body', problem }]);
}

/** A promised length is trusted once so much has come. */
const trustedBytes = 1024 * 1024;

/**
 * Reads a body of many megabytes into one array as it comes: joining its chunks at the end would block the main thread for a tenth of a
 * second. Rejects with `too_large`, `invalid_input` where it breaks off, or with `signal`'s reason.
 */
export function readBytes(
  request: Readable & { headers?: IncomingHttpHeaders },
  { maxBytes, signal }: { maxBytes: number; signal?: AbortSignal | undefined },
): Promise<Uint8Array<ArrayBuffer>> {
  const promised = Number(request.headers?.['content-length'] ?? trustedBytes);
  const open = () => {
    let buffer = createGrowingBuffer(maxBytes, promised, trustedBytes);
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
  return readInto(request, open, { signal, brokenOff: incompleteBody });
}

/** Consumes the bytes of a body as they come; an error that it throws ends the reading. */
export interface Sink<T> {
  write(chunk: Uint8Array): void;
  /** The result, when all bytes have come. */
  end(): T;
  /** Frees the bytes: an error keeps alive what its stack ran through until somebody reads it. */
  drop(): void;
}

/**
 * Reads a request's body into the sink that `open` makes. The request is never destroyed: it is paused when the promise rejects,
 * and what is left of it is the caller's to read and drop.
 */
export function readInto<T>(
  request: Readable,
  open: () => Sink<T>,
  { signal, brokenOff }: { signal?: AbortSignal | undefined; brokenOff: (cause?: Error) => Error },
): Promise<T> {
  // Stays: a client may go away after the last byte, and an error without a listener ends the process.
  request.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    if (request.destroyed || request.readableEnded) throw brokenOff();
    const sink = open();

    const leave = () => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onError);
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown) => {
      leave();
      sink.drop();
      request.pause();
      reject(error);
    };
    const onData = (chunk: Uint8Array) => {
      try {
        sink.write(chunk);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = () => {
      try {
        resolve(sink.end());
        leave();
      } catch (error) {
        fail(error);
      }
    };
    const onClose = () => fail(brokenOff());
    const onError = (error: Error) => fail(brokenOff(error));
    const onAbort = () => fail(signal?.reason);

    signal?.addEventListener('abort', onAbort, { once: true });
    request.on('end', onEnd).on('close', onClose).on('error', onError).on('data', onData);
  });
}

/** Gathers chunks into one array of limited length. */
export interface GrowingBuffer {
  /** False, and nothing added, where the chunk would pass the limit. */
  add(chunk: Uint8Array): boolean;
  /** All bytes, alone in their ArrayBuffer, so that it can be transferred to a worker. */
  bytes(): Uint8Array<ArrayBuffer>;
}

const defaultBytes = 256 * 1024;

/**
 * Copies chunks into one array: a million chunks of one byte would each hold an object of their own. With an `expected` length the
 * array is made once, at the start or when `first` bytes have come; a promise that is not kept costs address space only, since the
 * system zeroes pages when they are first written. Past it the array doubles.
 */
export function createGrowingBuffer(
  maxBytes: number,
  expected = defaultBytes,
  first = expected,
): GrowingBuffer {
  let buffer = new Uint8Array(Math.min(expected, first, maxBytes));
  let length = 0;

  function grow(total: number): void {
    const wanted = total <= expected ? expected : Math.max(total, buffer.length * 2);
    const grown = new Uint8Array(Math.min(wanted, maxBytes));
    grown.set(buffer.subarray(0, length));
    buffer = grown;
  }

  return {
    add(chunk) {
      const total = length + chunk.length;
      if (total > maxBytes) return false;
      if (total > buffer.length) grow(total);
      buffer.set(chunk, length);
      length = total;
      return true;
    },
    bytes: () => (length === buffer.length ? buffer : buffer.slice(0, length)),
  };
}

/** The media type of files of unknown content. */
export const unknownType = 'application/octet-stream';

/** A file's media type: what its sender says, else what its name says, for curl knows few endings. */
export function fileType(said: string, name: string | undefined): string {
  const isSaid = said !== '' && said.split(';', 1)[0]?.trim().toLowerCase() !== unknownType;
  return isSaid ? said : (name !== undefined && lookup(name)) || unknownType;
}
