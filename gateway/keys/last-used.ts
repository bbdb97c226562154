import { rowsPerTransaction, sortYielding } from '../database/rows.js';
import type { Key } from './model.js';
import type { KeyStore } from './store.js';

/** A key as its users hold it, one object for as long as they know it. */
export interface UsedKey extends Pick<Key, 'id' | 'created_at'> {
  /** When it was used (wall clock, ms), until that is written. On the key itself, as a table of many would cost each call a look-up. */
  usedAt?: number | undefined;
}

/**
 * Collects when keys were used and writes it every `interval` (ms), keys of one age together: SQLite has those on the same
 * pages, and keys in no order would each cost it a page, six times as much. What cannot be written waits for the next time. At
 * most `max` keys wait; past that, a key's next use counts.
 */
export function createLastUsed(store: Pick<KeyStore, 'touch'>, interval: number, max: number) {
  let noted: UsedKey[] = [];
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    if (!running) void flush();
  }, interval).unref();

  /** Notes that a key was used at `at` (wall clock, ms); costs no read and no write. */
  function note(key: UsedKey, at: number): void {
    if (key.usedAt === undefined) {
      if (noted.length >= max) return;
      noted.push(key);
    }
    key.usedAt = at;
  }

  async function write(): Promise<void> {
    const previous = noted;
    noted = [];
    let left = await sortYielding(previous, byAge);
    while (left.length > 0) {
      const batch = left.slice(0, rowsPerTransaction);
      const uses = collectUses(batch);
      try {
        await store.touch(uses);
      } catch {
        // The change feed already says that the database is down; these times are worth no second line in the log.
        // A key used again meanwhile waits already.
        const back = batch.filter((key) => key.usedAt === undefined);
        for (const key of back) key.usedAt = uses.get(key.id);
        return putBack([...back, ...left.slice(rowsPerTransaction)]);
      }
      left = left.slice(rowsPerTransaction);
    }
  }

  function putBack(left: UsedKey[]): void {
    const free = max - noted.length;
    for (const key of left.slice(free)) key.usedAt = undefined;
    noted = noted.concat(left.slice(0, free));
  }

  async function flush(): Promise<void> {
    while (running) await running;
    running = write().finally(() => {
      running = undefined;
    });
    return running;
  }

  return {
    note,
    flush,
    /** Writes what is left. */
    async close(): Promise<void> {
      clearInterval(timer);
      await flush();
    },
  };
}

/** Removes the times from the keys. A key that was evicted and read again is there twice: the later time counts. */
function collectUses(keys: UsedKey[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (const key of keys) {
    if (key.usedAt === undefined) continue;
    uses.set(key.id, Math.max(key.usedAt, uses.get(key.id) ?? 0));
    key.usedAt = undefined;
  }
  return uses;
}

function byAge(a: UsedKey, b: UsedKey): number {
  if (a.created_at !== b.created_at) return a.created_at - b.created_at;
  return a.id < b.id ? -1 : 1;
}
