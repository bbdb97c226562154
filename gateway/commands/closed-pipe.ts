import type { Writable } from 'node:stream';

/**
 * Lets a process go on where whoever read its output has gone, as in `tenants list | head -1`: nobody misses the rest, and
 * what is open has to be closed all the same; of a terminal that was closed the code is EIO. Any other error of the stream is thrown on.
 */
export function outliveReader(stream: Writable): void {
  stream.on('error', function onOutputError(error: NodeJS.ErrnoException) {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
}
