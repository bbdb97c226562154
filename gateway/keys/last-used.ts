import type { KeyStore } from './store.js';

export interface LastUsed {
  /** Notes that a key was used at `at` (wall clock, ms); costs no read and no write. */
  note(keyId: string, at: number): void;
  flush(): Promise<void>;
  /** Writes what is left. */
  close(): Promise<void>;
}

/** Keys noted at most between two writes; past it, the next use will tell. */
const mostKeys = 100_000;

/** Gathers when keys were used and writes it in one batch an `interval` (ms); what cannot be written waits for the next. */
export function createLastUsed(store: Pick<KeyStore, 'touch'>, interval: number): LastUsed {
  let noted = new Map<string, number>();
  const timer = setInterval(flush, interval).unref();

  function note(keyId: string, at: number): void {
    if (noted.size < mostKeys || noted.has(keyId)) noted.set(keyId, at);
  }

  async function flush(): Promise<void> {
    if (noted.size === 0) return;
    const batch = noted;
    noted = new Map();
    try {
      await store.touch(batch);
    } catch {
      // The feed of changes already says that the database is away; these times are worth no second line in the log.
      for (const [keyId, at] of batch) if (!noted.has(keyId)) note(keyId, at);
    }
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
