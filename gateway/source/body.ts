/** Gathers a download's chunks into one array of at most `maxBytes`. */
export interface Body {
  /** False, and nothing taken, if the chunk would pass the limit. */
  add(chunk: Uint8Array): boolean;
  /** All bytes, alone in their ArrayBuffer (never a slice of a shared pool), so that it can be moved to a worker. */
  bytes(): Uint8Array<ArrayBuffer>;
}

const firstBytes = 1024 * 1024;

/**
 * Chunks are copied into one growing array and not kept: a million chunks of one byte would each hold an object, and a
 * whole socket buffer, of their own. `expected` (the content-length, at most `maxBytes`) only bounds the growth, so that a
 * promise of many bytes costs nothing before they come; kept, an honest one makes the last copy unnecessary.
 */
export function createBody(maxBytes: number, expected = maxBytes): Body {
  let buffer = new Uint8Array(Math.min(expected, firstBytes));
  let length = 0;
  return {
    add(chunk) {
      const total = length + chunk.length;
      if (total > maxBytes) return false;
      if (total > buffer.length) {
        const doubled = Math.max(total, buffer.length * 2);
        const grown = new Uint8Array(Math.min(doubled, total <= expected ? expected : maxBytes));
        grown.set(buffer.subarray(0, length));
        buffer = grown;
      }
      buffer.set(chunk, length);
      length = total;
      return true;
    },
    bytes() {
      return length === buffer.length ? buffer : buffer.slice(0, length);
    },
  };
}
