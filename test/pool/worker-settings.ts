import { pathToFileURL } from 'node:url';
import type { Requester } from '../../pool/admission.js';
import { createPool, type Pool, type PoolOptions } from '../../pool/pool.js';
import type { CallTask, Task, TaskOutcome, WorkerSettings } from '../../pool/task.js';
import { fixture } from '../fixtures.js';
import { rejection } from '../gateway/download/raw-server.js';

/**
 * What a pool's workers are started with where a test does not care. They load no engine before a picture comes, for that is most of
 * what a thread costs; the first one's task waits for it. Of the two, sharp costs half as much to load.
 */
export const workerSettings: WorkerSettings = {
  engine: 'sharp',
  lean: true,
  limits: { maxPixels: 1e6, maxFrames: 10 },
  fonts: [],
  taskTimeoutMs: 60_000,
  maxJsonBytes: 4e6,
};

/** A call of one of the pool's fixture plugins, or of the one at this url. */
export function callTask(plugin: string, input: Record<string, unknown> = {}, url?: string): CallTask {
  return {
    kind: 'call',
    plugin: url ?? pathToFileURL(fixture(`plugins/pool/${plugin}.mjs`)).href,
    does: 'handler',
    input,
    context: { service: plugin, request_id: 'r' },
  };
}

/** Whose work it is: a tenant's without limits. */
export function of(tenant: string, more: Partial<Requester> = {}): Requester {
  return { tenant, weight: 1, most: null, ...more };
}

/** A pool of one thread, unless options say otherwise; not started. */
export function poolOf(options: Partial<PoolOptions> = {}): Pool {
  return createPool({ threads: 1, queue: 9, worker: workerSettings, ...options });
}

/** Runs a task of the tenant `a`, or of another requester. */
export function run(pool: Pool, task: Task, requester = of('a')): Promise<TaskOutcome> {
  return pool.ticket(requester).run(task);
}

/** What a call's handler answered. */
export function dataOf(outcome: TaskOutcome) {
  if (!outcome.ok || !('bytes' in outcome.value)) throw new Error('it has no answer');
  return JSON.parse(Buffer.from(outcome.value.bytes).toString());
}

/** The code with which this is rejected. */
export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return (await rejection(promise)).code;
}
