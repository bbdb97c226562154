import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitConcurrency } from '../../../pool/concurrency.js';
import type { FileBytes } from '../../../pool/task.js';
import { GatewayError, inputError } from '../../errors.js';
import type { GivenInput, Reply } from '../../local-helpers.js';
import type { Job } from './jobs.js';
import { multipart, type ServedHelper, type ServerClient, serverReply } from './server.js';

/** Many calls that a gateway makes as jobs. */
export interface ServerJobs {
  /** Resolves when the gateway has taken the first of them; rejects where it takes none, for what is said of all then. */
  readonly begun: Promise<void>;
  /** What came of one. Rejects where it could not be sent, or is not to be had any more. */
  reply(job: Job): Promise<Reply>;
  /** Cancels what is still to be done, where the calls were given up. */
  close(): Promise<void>;
}

export interface ServerJobsOptions {
  client: ServerClient;
  helper: ServedHelper;
  jobs: readonly Job[];
  signal: AbortSignal;
}

/** Files of one request at most, and their bytes: so much is held in memory, and so much is sent again where a connection breaks. */
const batchFiles = 500;
const batchBytes = 16 * 1024 ** 2;
/** Milliseconds between two looks at a job, at first and at last. */
const firstLookMs = 100;
const lastLookMs = 2_000;
const itemsAPage = 1_000;
/** Results on their way at a time. */
const mostDownloads = 4;

interface Loaded {
  job: Job;
  file: FileBytes;
}

/** Sends the calls in batches, in their order, and brings each result as soon as it is there. */
export function createServerJobs({ client, helper, jobs, signal }: ServerJobsOptions): ServerJobs {
  const replies = new Map(jobs.map((job) => [job, deferred<Reply>()]));
  // Whoever asks for one later must not find that nobody had listened.
  for (const { promise } of replies.values()) promise.catch(() => undefined);
  const open = new Set<string>();
  const [field = 'file'] = helper.files.map((file) => file.field);
  const downloads = limitConcurrency(mostDownloads);
  const running: Promise<void>[] = [];
  let values: GivenInput['query'];
  /** What stands beside each call's own file, such as a logo: it is sent once. */
  let shared: [string, FileBytes][] = [];

  const begun = deferred<void>();
  begun.promise.catch(() => undefined);
  const sending = sendAll().then(begun.resolve, (error) => {
    begun.reject(error);
    for (const { reject } of replies.values()) reject(error);
  });

  async function sendAll(): Promise<void> {
    let batch: Loaded[] = [];
    let bytes = 0;
    for (const job of jobs) {
      const loaded = await load(job);
      if (!loaded) continue;
      if (batch.length > 0 && bytes + loaded.file.bytes.byteLength > batchBytes) {
        await send(batch);
        [batch, bytes] = [[], 0];
      }
      batch.push(loaded);
      bytes += loaded.file.bytes.byteLength;
      if (batch.length === batchFiles) {
        await send(batch);
        [batch, bytes] = [[], 0];
      }
    }
    if (batch.length > 0) await send(batch);
  }

  /** A file that cannot be read costs the others nothing. */
  async function load(job: Job): Promise<Loaded | undefined> {
    const given = await job.load().catch((error) => {
      replies.get(job)?.reject(error);
      return undefined;
    });
    if (!given) return undefined;
    if (given.query && given.query.problems.length > 0) throw inputError([...given.query.problems]);
    values = given.query;
    const { uploads = new Map() } = given;
    shared = [...uploads].filter(([name]) => name !== field);
    const file = uploads.get(field);
    return file && { job, file };
  }

  async function send(batch: readonly Loaded[]): Promise<void> {
    signal.throwIfAborted();
    const form = multipart(
      [['service', helper.id], ...(values?.values ?? [])],
      [...shared, ...batch.map(({ file }): [string, FileBytes] => [field, file])],
    );
    // Sent again after a connection broke, it is the same job.
    const headers = { 'idempotency-key': randomUUID() };
    const made = await client
      .data('/jobs', { method: 'POST', headers, body: () => form, lingers: true })
      .catch((error) => {
        if (!isTooLarge(error)) throw error;
        return { error };
      });
    if ('error' in made) return sendLess(batch, made.error);
    const { id } = made;
    begun.resolve();
    open.add(String(id));
    running.push(
      follow(
        String(id),
        batch.map(({ job }) => job),
      ).catch((error) => {
        for (const { job } of batch) replies.get(job)?.reject(error);
      }),
    );
  }

  /** What is too large for the gateway costs no other file: the batch is halved until that one is alone. */
  async function sendLess(batch: readonly Loaded[], error: unknown): Promise<void> {
    const [first] = batch;
    if (first && batch.length === 1) {
      const { byteLength } = first.file.bytes;
      // It may be what goes with each file, and then the others fare no better.
      if (shared.some(([, { bytes }]) => bytes.byteLength >= byteLength)) throw error;
      replies.get(first.job)?.reject(error);
      return;
    }
    const half = Math.ceil(batch.length / 2);
    await send(batch.slice(0, half));
    await send(batch.slice(half));
  }

  async function follow(id: string, calls: readonly Job[]): Promise<void> {
    const told = new Set<number>();
    for (let wait = firstLookMs; told.size < calls.length; wait = Math.min(lastLookMs, wait * 1.5)) {
      await sleep(wait, undefined, { signal });
      for await (const { index, state } of itemsOf(id)) {
        if (told.has(index) || state === 'waiting' || state === 'running') continue;
        told.add(index);
        const job = calls[index];
        if (job) void downloads(() => bring(id, index, state)).then(...settle(job));
      }
    }
    open.delete(id);
  }

  function settle(job: Job): [(reply: Reply) => void, (error: unknown) => void] {
    const reply = replies.get(job);
    return [(value) => reply?.resolve(value), (error) => reply?.reject(error)];
  }

  async function* itemsOf(id: string): AsyncIterable<{ index: number; state: string }> {
    let after = '';
    for (;;) {
      const page = await client.data(`/jobs/${id}?limit=${itemsAPage}${after}`);
      yield* page.items as { index: number; state: string }[];
      if (typeof page.next !== 'number') return;
      after = `&after=${page.next}`;
    }
  }

  async function bring(id: string, index: number, state: string): Promise<Reply> {
    if (state === 'cancelled')
      throw new GatewayError('conflict', { message: 'The job was cancelled before this file.' });
    return serverReply(await client.send(`/jobs/${id}/items/${index}`));
  }

  return {
    begun: begun.promise,
    reply: (job) => (replies.get(job) as { promise: Promise<Reply> }).promise,
    async close() {
      await sending;
      await Promise.all(running);
      if (!signal.aborted) return;
      await Promise.all([...open].map((id) => client.cancel(`/jobs/${id}`)));
    },
  };
}

function isTooLarge(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'too_large';
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
