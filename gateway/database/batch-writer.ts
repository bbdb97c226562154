import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Logger } from 'pino';
import type { Access, NoTables } from './database.js';
import { pruneTable } from './prune-daily.js';

/** The last batch that each gateway process has written, `at` in epoch milliseconds: it makes writing a batch twice harmless. */
type WriterTables = { usage_writers: { id: string; batch: number; at: number } };

/** A process that tries one batch again for longer than this may count it twice. */
const keepMs = 30 * 86_400_000;

/** A piece of what one source has gathered, frozen: it may be written more than once, and counts once. */
export interface PendingWrite {
  /** A source names its own tables: `trx.withTables<…>()`. */
  write(trx: Transaction<NoTables>): Promise<void>;
  /** `written` is false where the database had the batch already, so that `write` did not run this time. */
  committed?(written: boolean): void;
}

export interface BatchSource {
  /** What was gathered since the last call, in pieces of at most `rowsPerTransaction` rows, quick to make each. */
  drain(): AsyncIterator<PendingWrite> | Iterator<PendingWrite>;
}

export type BatchWriter = ReturnType<typeof createBatchWriter>;

export interface BatchWriterOptions {
  access: Access<NoTables>;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Milliseconds between two batches, default 2000; what a `kill -9` can lose. At most 4000, to stay under 5 s. */
  flushEveryMs?: number;
  /** How long `close` goes on trying, in milliseconds; default 4000. */
  closeMs?: number;
}

/**
 * Writes the counts of all its sources behind the requests: a transaction, the batch, holds a piece of each. A connection lost during
 * COMMIT leaves open whether the batch is in, so the transaction notes its number: one that is not newer is not written again.
 */
export function createBatchWriter(options: BatchWriterOptions) {
  const { access, logger, closeMs = 4000 } = options;
  const id = randomUUID();
  const sources: BatchSource[] = [];
  let drained: ReturnType<BatchSource['drain']>[] = [];
  let number = 0;
  let batch: PendingWrite[] = [];
  let failing = false;

  async function isNew(trx: Transaction<NoTables>): Promise<boolean> {
    const at = Date.now();
    const rows = await trx
      .withTables<WriterTables>()
      .insertInto('usage_writers')
      .values({ id, batch: number, at })
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet({ batch: number, at }).where('usage_writers.batch', '<', number),
      )
      .returning('id')
      .execute();
    return rows.length > 0;
  }

  /** Starts with the batch that failed, where there is one. */
  async function writeDrained(): Promise<void> {
    for (;;) {
      if (batch.length === 0) {
        const pieces = await Promise.all(drained.map((source) => source.next()));
        batch = pieces.flatMap(({ done, value }) => (done ? [] : [value]));
        if (batch.length === 0) return;
        number += 1;
      }
      const parts = batch;
      const written = await access.change(async (trx) => {
        if (!(await isNew(trx))) return false;
        for (const part of parts) await part.write(trx);
        return true;
      });
      batch = [];
      for (const part of parts) part.committed?.(written);
    }
  }

  /** False where the database did not accept it; nothing is lost then. */
  async function writeAll(): Promise<boolean> {
    try {
      await writeDrained();
      drained = sources.map((source) => source.drain());
      await writeDrained();
    } catch (error) {
      if (!failing)
        logger.warn({ err: error }, 'usage cannot be written; it is kept in memory and tried again');
      failing = true;
      return false;
    }
    if (failing) logger.info({}, 'usage is written again');
    failing = false;
    return true;
  }

  const { flush, stop } = createFlusher(writeAll, options.flushEveryMs ?? 2000);

  /** Stops the timer and writes the rest, for up to `closeMs`. */
  async function close(): Promise<void> {
    stop();
    const deadline = AbortSignal.timeout(closeMs);
    const expired = pause(closeMs, false, { ref: false });
    let written = await Promise.race([flush(), expired]);
    while (!written && !deadline.aborted) {
      await pause(200);
      written = await Promise.race([flush(), expired]);
    }
    if (!written) logger.error({}, 'the last usage figures could not be written and are lost');
  }

  return { add: (source: BatchSource) => void sources.push(source), flush, close };
}

/** Runs `write` every so many milliseconds and by `flush`, which writes what was gathered before it; never twice at a time. */
export function createFlusher<T>(write: () => Promise<T>, everyMs: number) {
  let running: Promise<T> | undefined;

  async function flush(): Promise<T> {
    while (running) await running;
    running = write().finally(() => {
      running = undefined;
    });
    return running;
  }

  const timer = setInterval(() => {
    if (!running) void flush();
  }, everyMs).unref();

  return { flush, stop: () => clearInterval(timer) };
}

export const pruneWriters = pruneTable('usage_writers', 'id', (now) => sql`at < ${now - keepMs}`);

export async function createWriterTable(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table usage_writers (id text primary key, batch bigint not null, at bigint not null)
  `.execute(db);
}
