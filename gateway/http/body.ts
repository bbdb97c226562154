import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import { GatewayError, inputError } from '../errors.js';
import type { Ending } from './ending.js';

interface TextBodyOptions {
  /** Bytes at most. */
  maxBytes: number;
  /** Media types that are taken. */
  types: string[];
}

/** Loads koa-body, which brings parsers and a validator that nothing here uses, and takes a tenth of a second for them. */
export const loadKoaBody = () => import('koa-body');

/**
 * Reads the body of a request as bytes. koa-body reads and bounds it; its own parsers of JSON and forms hide repeated names
 * and take time that grows faster than the body. Rejects with `too_large`, `unsupported_media_type` where it is compressed,
 * `invalid_input` where it breaks off, or its ending's reason.
 */
export function createTextReader(
  options: TextBodyOptions,
): (ctx: Context, watch?: BodyWatch) => Promise<Uint8Array> {
  let reader: ReturnType<typeof open> | undefined;

  async function open() {
    const { HttpMethodEnum, koaBody } = await loadKoaBody();
    return koaBody({
      json: false,
      urlencoded: false,
      text: true,
      textTypes: options.types,
      textLimit: options.maxBytes,
      parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
      // No text: the bytes, of which UTF-8 is judged later.
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
      throw bodyError(error, options.maxBytes);
    }
    const { body } = request;
    // The request lives as long as its call, and would hold the text beside what is made of it.
    request.body = undefined;
    return body instanceof Uint8Array ? body : new Uint8Array();
  };
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

/** Throws for a body that is compressed: it is not decoded here, ever, for a few kilobytes may hold gigabytes. */
export function requirePlain(ctx: Pick<Context, 'get'>, told: { message?: string } = {}): void {
  const encoding = ctx.get('content-encoding');
  if (encoding !== '' && encoding !== 'identity') throw new GatewayError('unsupported_media_type', told);
}

export function bodyTooLarge(maxBytes: number): GatewayError {
  return new GatewayError('too_large', {
    message: `The body is larger than the ${maxBytes} bytes that are accepted here.`,
  });
}

/** raw-body's errors carry `status`; a client that went away shows as one. */
function bodyError(error: unknown, maxBytes: number): unknown {
  if (error instanceof GatewayError) return error;
  const { status } = error as { status?: number };
  if (status === 413) return bodyTooLarge(maxBytes);
  if (status === undefined || status >= 500) return error;
  const problem = 'must be complete, as long as its Content-Length says';
  return inputError([{ field: 'body', problem }], error);
}

/** A promised length is believed when so much has come. */
const trustedBytes = 1024 * 1024;

/**
 * Reads a body of many megabytes as bytes, gathered where they stay: to put its pieces together at the end would hold the main
 * thread for a tenth of a second. Rejects with `too_large`, `invalid_input` where it breaks off, or with `signal`'s reason.
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
  return readInto(request, open, { signal, brokenOff });
}

function brokenOff(cause?: Error) {
  const problem = 'must be complete, as long as its Content-Length says';
  return inputError([{ field: 'body', problem }], cause);
}

/** What takes the bytes of a body as they come; whatever it throws ends the reading. */
export interface Sink<T> {
  write(chunk: Uint8Array): void;
  /** All have come; gives what they were. */
  end(): T;
  /** Lets go of what it has: an error keeps alive what its stack ran through until somebody reads it. */
  drop(): void;
}

interface ReadIntoOptions {
  /** Ends the reading at once; the promise is rejected with its reason. */
  signal?: AbortSignal | undefined;
  /** The error of a body that breaks off. */
  brokenOff: (cause?: Error) => Error;
}

/**
 * Reads a request's body into what `open` gives. The request is never destroyed: it is paused when the promise is rejected, with
 * nothing kept of it, and what is left is the caller's to read and drop.
 */
export function readInto<T>(
  request: Readable,
  open: () => Sink<T>,
  { signal, brokenOff }: ReadIntoOptions,
): Promise<T> {
  // Stays: a client may go away after the last byte that was wanted, and an error that nobody listens to ends the process.
  request.on('error', ignore);
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
        const read = sink.end();
        leave();
        resolve(read);
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

function ignore() {}

export interface BodyWatch {
  /** Told of the bytes of each piece of the body. */
  onBytes(bytes: number): void;
  /** Ends the reading with its reason. */
  ending: Ending;
}

/** A small body may come as its client makes it, byte by byte; of a larger one each small piece costs as much as a large one. */
const freeBytes = 64 * 1024;
const leastMeanChunk = 32;

/**
 * Waits for `reading`, which has just begun to read the request's body, and tells of its bytes as they come. Ends it with its
 * ending's reason, or where the body comes in pieces of a few bytes (chunks of HTTP): a megabyte of single ones holds the main
 * thread for seconds.
 */
export function meterBody<T>(
  request: IncomingMessage,
  reading: Promise<T>,
  { onBytes, ending }: BodyWatch,
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
      if (bytes > freeBytes && bytes < pieces * leastMeanChunk) end(tooFine());
      else onBytes(piece.length);
    };
    reading.then(resolve, reject).finally(stop);
    request.on('data', count);
    ending.listen(end);
  });
}

function tooFine(): GatewayError {
  const problem = `must come in larger chunks: these hold less than ${leastMeanChunk} bytes on average`;
  return inputError([{ field: 'body', problem }]);
}

/** Gathers chunks of bytes into one array of at most a given length. */
export interface GrowingBuffer {
  /** False, and nothing taken, if the chunk would pass the limit. */
  add(chunk: Uint8Array): boolean;
  /** All bytes, alone in their ArrayBuffer (never a slice of a shared pool), so that it can be moved to a worker. */
  bytes(): Uint8Array<ArrayBuffer>;
}

const defaultBytes = 256 * 1024;

/**
 * Chunks are copied into one array and not kept: a million chunks of one byte would each hold an object of their own.
 * With an `expected` length (a content-length that is believed) the array is made once; a promise that is not kept costs
 * address space only, since the system gives zeroed pages when they are first written. It is believed from the start, or
 * when `first` bytes have come. Past it the array doubles.
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
    bytes() {
      return length === buffer.length ? buffer : buffer.slice(0, length);
    },
  };
}
