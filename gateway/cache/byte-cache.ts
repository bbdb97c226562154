import { LRUCache } from 'lru-cache';
import { Heap } from '../../pool/heap.js';

/** What is kept for tenants in memory, each tenant's apart from every other's. */
export interface ByteCache<Value extends object> {
  get(tenant: string, key: string): Value | undefined;
  /** Keeps a value that takes so many bytes; nothing happens where it takes more than may be kept of one. */
  set(tenant: string, key: string, value: Value, bytes: number): void;
  delete(tenant: string, key: string): void;
  stats(): { bytes: number; entries: number };
}

/** One tenant's part. */
interface Part<Value extends object> {
  tenant: string;
  values: LRUCache<string, Value>;
}

/** What an entry takes besides its value: its key, and its places in tables. */
const overhead = 512;
/** Of one entry at most, as a share of the whole. */
const largestShare = 1 / 4;

/**
 * A cache of at most so many bytes in all; 0 keeps nothing. Where they do not suffice, the tenant that holds the most gives up what
 * it used the longest ago (max-min fairness): whoever asks for many things displaces their own, and nobody else's fair part.
 */
export function createByteCache<Value extends object>(maxBytes: number): ByteCache<Value> {
  const parts = new Map<string, Part<Value>>();
  const largestFirst = new Heap<Part<Value>>((a, b) => sizeOf(a) > sizeOf(b));
  let bytes = 0;
  let entries = 0;

  function partOf(tenant: string): Part<Value> {
    const values = new LRUCache<string, Value>({ maxSize: maxBytes, sizeCalculation: () => overhead });
    return { tenant, values };
  }

  /** Does something with a part, and notes what it takes afterwards. */
  function change(part: Part<Value>, work: () => void): void {
    bytes -= sizeOf(part);
    entries -= part.values.size;
    work();
    bytes += sizeOf(part);
    entries += part.values.size;
    if (part.values.size > 0) {
      parts.set(part.tenant, part);
      largestFirst.place(part);
    } else {
      parts.delete(part.tenant);
      largestFirst.delete(part);
    }
  }

  return {
    get: (tenant, key) => parts.get(tenant)?.values.get(key),
    set(tenant, key, value, size) {
      const whole = size + overhead + key.length;
      if (whole > maxBytes * largestShare) return;
      const part = parts.get(tenant) ?? partOf(tenant);
      change(part, () => part.values.set(key, value, { size: whole }));
      while (bytes > maxBytes) {
        const largest = largestFirst.first();
        if (!largest) return;
        change(largest, () => largest.values.pop());
      }
    },
    delete(tenant, key) {
      const part = parts.get(tenant);
      if (part) change(part, () => part.values.delete(key));
    },
    stats: () => ({ bytes, entries }),
  };
}

function sizeOf({ values }: { values: { calculatedSize: number } }): number {
  return values.calculatedSize;
}
