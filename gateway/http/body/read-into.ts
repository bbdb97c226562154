import type { Readable } from 'node:stream';

/** What takes the bytes of a body as they come; whatever it throws ends the reading. */
export interface Sink<T> {
  write(chunk: Uint8Array): void;
  /** All have come; gives what they were. */
  end(): T;
  /** Lets go of what it has: an error keeps alive what its stack ran through until somebody reads it. */
  drop(): void;
}

export interface ReadIntoOptions {
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
