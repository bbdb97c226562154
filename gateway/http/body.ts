import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import { lookup } from 'mime-types';
import { GatewayError, inputError } from '../errors.js';

/** Loads koa-body, which takes a tenth of a second for parsers and a validator that nothing here uses. */
export const loadKoaBody = () => import('koa-body');

/** Reads a body as bytes, by koa-body, whose own parsers hide repeated names and take superlinear time. */
export function createTextReader(maxBytes: number) {
  let reader: ReturnType<typeof open> | undefined;

  async function open() {
    const { HttpMethodEnum, koaBody } = await loadKoaBody();
    return koaBody({
      json: false,
      urlencoded: false,
      text: true,
      textTypes: ['application/json', 'application/x-www-form-urlencoded'],
      textLimit: maxBytes,
      parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
      // Bytes, not text: UTF-8 is checked later.
      encoding: '',
    });
  }

  return async function readText(ctx: Context, watch?: BodyWatch): Promise<Uint8Array> {
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

/** A body that came whole with its head, as most small ones do: koa-body costs a quarter of a small call's CPU. */
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

/** Whether all of a body has come. Node's parser reports a request's end only after what its last bytes have caused. */
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

/** Bytes of the body that a request brings, by its headers: 0 for none, infinite where they do not say. */
export function announcedBytes(headers: IncomingHttpHeaders): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}

/** Throws for a compressed body: it is never decoded, for a few kilobytes may hold gigabytes. */
export function requirePlain(ctx: Pick<Context, 'get'>, options: { message?: string } = {}): void {
  const encoding = ctx.get('content-encoding');
  if (encoding !== '' && encoding !== 'identity') throw new GatewayError('unsupported_media_type', options);
}

export interface BodyWatch {
  onBytes(bytes: number): void;
  signal: AbortSignal;
}

/** A small body may come byte by byte; of a larger one each small chunk costs as much as a large one. */
const freeBytes = 64 * 1024;
const leastMeanChunk = 32;

/**
 * Waits for `reading`, which has just begun, and reports its bytes. Ends it with its signal's reason, or where chunks
 * have a few bytes each: a megabyte of single ones blocks the main thread for seconds.
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
      if (bytes > freeBytes && bytes < chunks * leastMeanChunk) {
        const problem = `must come in larger chunks: these hold less than ${leastMeanChunk} bytes on average`;
        end(inputError([{ field: 'body', problem }]));
      } else onBytes(chunk.length);
    };
    reading.then(resolve, reject).finally(stop);
    request.on('data', count);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
}

/** A promised length is trusted once so much has come. */
const trustedBytes = 1024 * 1024;

/** Reads many megabytes into one array: joining chunks would block the main thread for a tenth of a second. */
export async function readBytes(
  request: IncomingMessage,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
  const promised = Number(request.headers['content-length'] ?? trustedBytes);
  let buffer = createGrowingBuffer(maxBytes, promised, trustedBytes);
  const sink = {
    write(chunk: Uint8Array) {
      if (!buffer.add(chunk)) throw bodyTooLarge(maxBytes);
    },
    end: () => buffer.bytes(),
    drop() {
      buffer = createGrowingBuffer(0);
    },
  };
  return readInto(request, sink, { signal, brokenOff: incompleteBody });
}

interface Sink<T> {
  write(chunk: Uint8Array): void;
  end(): T;
  /** Frees the bytes: an error keeps alive what its stack ran through until somebody reads it. */
  drop(): void;
}

/** Reads a body into a sink. Never destroys the request: pauses it before the promise rejects. */
export function readInto<T>(
  request: Readable,
  sink: Sink<T>,
  { signal, brokenOff }: { signal?: AbortSignal | undefined; brokenOff: (cause?: Error) => Error },
): Promise<T> {
  // Stays: a client may go away after the last byte, and an error without a listener ends the process.
  request.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    if (request.destroyed || request.readableEnded) throw brokenOff();
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

export type GrowingBuffer = ReturnType<typeof createGrowingBuffer>;

const defaultBytes = 256 * 1024;

/**
 * Copies chunks into one array: a million chunks of one byte would be as many objects. It is made once for an
 * `expected` length, at the start or when `first` bytes have come: a false promise costs address space only. Past it it
 * doubles.
 */
export function createGrowingBuffer(maxBytes: number, expected = defaultBytes, first = expected) {
  let buffer = new Uint8Array(Math.min(expected, first, maxBytes));
  let length = 0;

  function grow(total: number): void {
    const wanted = total <= expected ? expected : Math.max(total, buffer.length * 2);
    const grown = new Uint8Array(Math.min(wanted, maxBytes));
    grown.set(buffer.subarray(0, length));
    buffer = grown;
  }

  return {
    /** False, and nothing added, where the chunk would pass the limit. */
    add(chunk: Uint8Array): boolean {
      const total = length + chunk.length;
      if (total > maxBytes) return false;
      if (total > buffer.length) grow(total);
      buffer.set(chunk, length);
      length = total;
      return true;
    },
    /** All bytes, alone in their ArrayBuffer, so that it can be transferred to a worker. */
    bytes: () => (length === buffer.length ? buffer : buffer.slice(0, length)),
  };
}

/** The media type of files of unknown content. */
export const unknownType = 'application/octet-stream';

export function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** A file's media type: what its sender says, else what its name says, for curl knows few endings. */
export function fileType(said: string, name: string | undefined): string {
  const isSaid = said !== '' && essenceOf(said) !== unknownType;
  return isSaid ? said : (name !== undefined && lookup(name)) || unknownType;
}
