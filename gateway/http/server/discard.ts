import type { Readable } from 'node:stream';

/** Reads and drops what comes of a stream, whoever read it before, and tells how much at a time. */
export type Discard = (stream: Readable, dropped: (bytes: number) => void) => void;

/** What is dropped in a turn, of all streams together, and how far turns lie apart: 200 MB a second. */
const turn = { bytes: 2 * 1024 * 1024, ms: 10 };

/** Chunks of a few bytes cost as much to drop as larger ones. */
const leastWeight = 1024;

/** A stream that is resumed gives 64 KB before it can be stopped again. */
const mostResumed = turn.bytes / (64 * 1024);

/**
 * Streams that are dropped share one bounded speed and take turns. What nobody wants arrives as fast as the network carries
 * it, also from those who have no key, and would take the main thread from the calls that are served.
 */
export function createDiscard(): Discard {
  const waiting = new Set<Readable>();
  let left = turn.bytes;
  let turns = false;

  function nextTurn(): void {
    left = turn.bytes;
    turns = waiting.size > 0;
    if (turns) setTimeout(nextTurn, turn.ms);
    let resumed = 0;
    for (const stream of waiting) {
      if (resumed === mostResumed) break;
      resumed += 1;
      waiting.delete(stream);
      stream.resume();
    }
  }

  return function discard(stream, dropped) {
    stream.unpipe();
    stream.removeAllListeners('data');
    stream.on('error', () => undefined);
    stream.once('close', () => waiting.delete(stream));
    stream.on('data', (chunk: Uint8Array) => {
      const weight = Math.max(chunk.byteLength, leastWeight);
      dropped(weight);
      left -= weight;
      if (!turns) setTimeout(nextTurn, turn.ms);
      turns = true;
      if (left > 0) return;
      stream.pause();
      waiting.add(stream);
    });
    stream.resume();
  };
}
