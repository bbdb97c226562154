import { sortInTurns } from '../database/in-turns.js';
import type { Key } from './model.js';
import type { KeyStore } from './store.js';

type UsedKey = Pick<Key, 'id' | 'created_at'>;

interface Use {
  key: UsedKey;
  at: number;
}

export interface LastUsed {
  /** Notes that a key was used at `at` (wall clock, ms); costs no read and no write. */
  note(key: UsedKey, at: number): void;
  flush(): Promise<void>;
  /** Writes what is left. */
  close(): Promise<void>;
}

/** Keys noted at most between two writes; past it, the next use will tell. */
const mostKeys = 100_000;
/** Keys handed to the store at once. */
const batchSize = 1_000;

/**
 * Gathers when keys were used and writes it every `interval` (ms), keys of one age together: SQLite has those on the same
 * pages, and keys in no order would each cost it a page, six times as much. What cannot be written waits for the next time.
 */
export function createLastUsed(store: Pick<KeyStore, 'touch'>, interval: number): LastUsed {
  let noted = new Map<string, Use>();
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    if (!running) void flush();
  }, interval).unref();

  function note(key: UsedKey, at: number): void {
    const use = noted.get(key.id);
    if (use) use.at = at;
    else if (noted.size < mostKeys) noted.set(key.id, { key, at });
  }

  async function write(): Promise<void> {
    let left = await sortInTurns([...take().values()], byAge);
    try {
      while (left.length > 0) {
        const batch = left.slice(0, batchSize);
        await store.touch(new Map(batch.map(({ key, at }) => [key.id, at])));
        left = left.slice(batchSize);
      }
    } catch {
      // The feed of changes already says that the database is away; these times are worth no second line in the log.
      for (const { key, at } of left) if (!noted.has(key.id)) note(key, at);
    }
  }

  function take(): Map<string, Use> {
    const taken = noted;
    noted = new Map();
    return taken;
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
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

function byAge({ key: a }: Use, { key: b }: Use): number {
  if (a.created_at !== b.created_at) return a.created_at - b.created_at;
  return a.id < b.id ? -1 : 1;
}
