import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitConcurrency } from '../../../pool/concurrency.js';
import type { FileBytes } from '../../../pool/task.js';
import { GatewayError, inputError } from '../../errors.js';
import type { GivenInput, Reply } from '../../local-helpers.js';
import type { Job } from './jobs.js';
import { multipart, type ServedHelper, type ServerClient, serverReply } from './server.js';

interface ServerJobsOptions {
  client: ServerClient;
  helper: ServedHelper;
  jobs: readonly Job[];
  signal: AbortSignal;
}

/** Files of one request at most, and their bytes: so much is held in memory, and so much is sent again where a connection breaks. */
const batchFiles = 500;
const batchBytes = 16 * 1024 ** 2;
/** Milliseconds between two polls of a job, at first and at last. */
const firstPollMs = 100;
const lastPollMs = 2_000;
const itemsAPage = 1_000;
/** Results that are downloaded at a time. */
const mostDownloads = 4;

interface Loaded {
  job: Job;
  file: FileBytes;
}

/** Sends the calls as jobs, in batches, and downloads each result once it is there. `begun`: the first was accepted. */
export function createServerJobs({ client, helper, jobs, signal }: ServerJobsOptions) {
  const replies = new Map(jobs.map((job) => [job, deferred<Reply>()]));
  // A rejection before its reply is awaited must not count as unhandled.
  for (const { promise } of replies.values()) promise.catch(() => undefined);
  const open = new Set<string>();
  const [field = 'file'] = helper.files.map((file) => file.field);
  const downloads = limitConcurrency(mostDownloads);
  const running: Promise<void>[] = [];
  let values: GivenInput['query'];
  /** Files beside each call's own, such as a logo: sent once with each batch. */
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
      const isFull = batch.length === batchFiles || bytes + loaded.file.bytes.byteLength > batchBytes;
      if (batch.length > 0 && isFull) {
        await send(batch);
        [batch, bytes] = [[], 0];
      }
      batch.push(loaded);
      bytes += loaded.file.bytes.byteLength;
    }
    if (batch.length > 0) await send(batch);
  }

  /** Undefined for a file that cannot be read, which costs the others nothing. */
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
        if (error instanceof GatewayError && error.code === 'too_large') return { error };
        throw error;
      });
    if ('error' in made) return sendLess(batch, made.error);
    const id = String(made.id);
    begun.resolve();
    open.add(id);
    const calls = batch.map(({ job }) => job);
    const followed = follow(id, calls).catch((error) => {
      for (const job of calls) replies.get(job)?.reject(error);
    });
    running.push(followed);
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
    const ended = new Set<number>();
    for (let wait = firstPollMs; ended.size < calls.length; wait = Math.min(lastPollMs, wait * 1.5)) {
      await sleep(wait, undefined, { signal });
      for await (const { index, state } of itemsOf(id)) {
        if (ended.has(index) || state === 'waiting' || state === 'running') continue;
        ended.add(index);
        const job = calls[index];
        const reply = job && replies.get(job);
        if (reply) void downloads(() => download(id, index, state)).then(reply.resolve, reply.reject);
      }
    }
    open.delete(id);
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

  async function download(id: string, index: number, state: string): Promise<Reply> {
    if (state === 'cancelled')
      throw new GatewayError('conflict', { message: 'The job was cancelled before this file.' });
    return serverReply(await client.send(`/jobs/${id}/items/${index}`));
  }

  return {
    begun: begun.promise,
    most: jobs.length,
    call: (job: Job) => (replies.get(job) as { promise: Promise<Reply> }).promise,
    async close(): Promise<void> {
      await sending;
      await Promise.all(running);
      if (!signal.aborted) return;
      await Promise.all([...open].map((id) => client.cancel(`/jobs/${id}`)));
    },
  };
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
