/** Gathers chunks of bytes into one array of at most a given length. */
export interface GrowingBuffer {
  /** False, and nothing taken, if the chunk would pass the limit. */
  add(chunk: Uint8Array): boolean;
  /** All bytes, alone in their ArrayBuffer (never a slice of a shared pool), so that it can be moved to a worker. */
  bytes(): Uint8Array<ArrayBuffer>;
}

const firstBytes = 256 * 1024;

/**
 * Chunks are copied into one array and not kept: a million chunks of one byte would each hold an object of their own.
 * With an `expected` length (a content-length that is believed) the array is made once; a promise that is not kept costs
 * address space only, since the system gives zeroed pages when they are first written. It is believed from the start, or
 * when `first` bytes have come. Past it the array doubles.
 */
export function createGrowingBuffer(
  maxBytes: number,
  expected = firstBytes,
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
