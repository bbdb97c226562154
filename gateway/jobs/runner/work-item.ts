import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import { type Answer, toBytes } from '../../../pool/answer.js';
import { StoreError } from '../../database/store-error.js';
import { GatewayError, toGatewayError } from '../../errors.js';
import type { Helper } from '../../plugins/registry.js';
import type { TenantHelpers } from '../../recipes/tenant-helpers.js';
import type { ItemResult } from '../model.js';
import { type ResultStore, resultName, resultStore } from '../results/result-store.js';
import type { JobStore } from '../store/job-store.js';
import type { EndedItem } from '../store/transitions.js';
import type { ItemCall } from './item-call.js';
import type { ItemPipeline } from './item-stages.js';
import { isPoison, type Retry, retryOf } from './retries.js';
import type { RetryPolicy } from './retry-policy.js';

/** What has become of an item, after `spent` milliseconds: its end, or that it is to be worked on again. */
type Worked = { spent: number } & (
  | {
      ended: EndedItem;
      /** To be called once the end is written, or could not be. */
      written?: (stored: boolean) => void;
    }
  | { again: Retry }
);

interface WorkItemParts {
  helpers: Pick<TenantHelpers, 'find'>;
  pipelineOf: (helper: Helper) => ItemPipeline;
  results: Pick<ReturnType<typeof createItemResults>, 'put' | 'reserve'>;
}

/** Bytes of JSON that are stored with their item: a file of their own would cost a wait for the disk, or for S3. */
const mostText = 1_024;
const decoder = new TextDecoder();

/** Works on items: runs each through its helper's stages and puts what comes of it to the results. It never rejects. */
export function createItemWork({ helpers, pipelineOf, results }: WorkItemParts) {
  async function answer(call: ItemCall): Promise<Answer> {
    const { item, state } = call;
    if (isPoison(item.attempt)) {
      const cause = new Error(`lost with its process ${item.attempt - 1} times`);
      throw new GatewayError('internal', { cause });
    }
    const helper = await helpers.find(item.of.tenant_id, item.of.service);
    if (!helper) {
      throw new GatewayError('not_found', { message: `There is no helper ${item.of.service} any more.` });
    }
    state.helper = helper;
    // What ran before may have changed something already.
    if (helper.declaration.repeatable === false && item.attempt > 1) throw notAgain(helper.id);
    return pipelineOf(helper)(call);
  }

  return async function workItem(call: ItemCall): Promise<Worked> {
    const { item, state, watch } = call;
    const tenant = item.of.tenant_id;
    let release: ((stored: boolean) => void) | undefined;
    const began = performance.now();
    // While it waited for its input or in the pool, it held up no other item; what costs no time counts as a millisecond.
    const ended = (end: EndedItem['end'], of: { status: number; bytesOut: number }) =>
      endedItem(call, end, { ...of, ms: performance.now() - began });
    const spent = () => Math.max(1, performance.now() - began - watch.ms + state.taskMs);
    try {
      // Before it runs: a tenant whose results have no room is to cost no work.
      (await results.reserve(tenant, 1))(false);
      const { bytes, result } = resultOf(await answer(call), call);
      const cost = spent();
      release = await results.reserve(tenant, bytes.length);
      const text = result.kind === 'json' && bytes.length <= mostText ? decoder.decode(bytes) : undefined;
      if (text === undefined) await results.put(resultName(item, item.attempt), bytes);
      const end = { state: 'done', result, ...(text === undefined ? {} : { text }) } as const;
      const bytesOut = bytes.length;
      return { ended: ended(end, { status: 200, bytesOut }), spent: cost, written: release };
    } catch (thrown) {
      release?.(false);
      const { helper } = state;
      const mayRepeat = helper?.declaration.repeatable !== false;
      const hasActed = !mayRepeat && state.mayHaveActed === true;
      // It was given up here, and is another's to do.
      if (state.signal.aborted && !hasActed) return { again: { counted: false, delayMs: 0 }, spent: spent() };
      const error = state.signal.aborted && helper ? notAgain(helper.id) : toGatewayError(thrown);
      state.code = error.code;
      if (error.isFault) state.fault = error.cause ?? error;
      const retry = hasActed || error instanceof StoreGivenUp ? undefined : retryOf(error, item.attempt);
      // A counted start of what may run only once would look like one that was lost.
      const again = retry?.counted && !mayRepeat ? undefined : retry;
      if (again) return { again, spent: spent() };
      const { code, message, details, status } = error;
      const failed = { state: 'failed', error: { code, message, ...(details && { details }) } } as const;
      return { ended: ended(failed, { status, bytesOut: 0 }), spent: spent() };
    }
  };
}

/** What has become of the first start is unknown, so the maker of the job has to look. */
function notAgain(id: string): GatewayError {
  const message = `The process that worked on this has ended. ${id} changes something elsewhere and may have done so; it is not run again.`;
  return new GatewayError('internal', { message });
}

function endedItem(
  { item: { job, index, of }, state }: ItemCall,
  end: EndedItem['end'],
  outcome: Record<'status' | 'bytesOut' | 'ms', number>,
): EndedItem {
  const { tenant_id: tenant, key_id: key, service } = of;
  const { requestId, code = 'ok', bytesIn, taskMs: cpuMs, dryrun } = state;
  return {
    job,
    index,
    end,
    usage: { tenant, key, service, requestId, code, bytesIn, cpuMs, dryrun, ...outcome },
  };
}

function resultOf(
  answer: Answer,
  { state: { dryrun, cost }, item: { attempt } }: ItemCall,
): { bytes: Uint8Array; result: ItemResult } {
  const made = toBytes(answer);
  const { kind, bytes } = made;
  const type = made.kind === 'json' ? 'application/json' : made.type;
  // This call's cache status says nothing of the stored result.
  const { 'x-cache': _, ...headers } = (made.kind === 'json' ? undefined : made.headers) ?? {};
  const own = Object.keys(headers).length > 0 ? { headers } : {};
  const later = attempt > 1 ? { attempt } : {};
  return {
    bytes,
    result: { kind, type, bytes: bytes.length, ...own, dryrun, ...(cost && { cost }), ...later },
  };
}

interface ItemResultsOptions {
  results: Pick<ResultStore, 'get' | 'put'>;
  store: Pick<JobStore, 'held'>;
  retryPolicy: Pick<RetryPolicy, 'run'>;
  mostBytes: number;
  /** A clock that never jumps, ms; for tests. */
  now?: () => number;
}

/** The end of an item: what else failed with the store may be tried again. */
export class StoreGivenUp extends StoreError {}

/** How long an item waits for a store. One that has been away for this long already is asked once. */
const longestOutageMs = 60_000;
/** The longest pause between two tries. */
const pauseMs = 5_000;
/** How long it is believed what a tenant's results hold: other processes add to it. */
const freshMs = 1_000;

/** The result store as items use it. Rejects with a `StoreGivenUp` where it has been full or away for as long as an item waits. */
export function createItemResults(options: ItemResultsOptions) {
  const { results, store, retryPolicy, mostBytes, now = () => performance.now() } = options;
  /** `reserved` is counted here and not yet in `bytes`. */
  const tenants = new LRUCache<string, { bytes: number; reserved: number; readAt: number }>({ max: 10_000 });
  /** Since when nothing has worked that failed; a full store may have room for less. */
  let outage: { since: number; last: number; bytes: number } | undefined;

  function fail(bytes: number, error: unknown): void {
    const time = now();
    if (outage && time - outage.last > longestOutageMs) outage = undefined;
    const least = error instanceof StoreError && error.isFull ? bytes : 0;
    outage = { since: outage?.since ?? time, last: time, bytes: Math.min(least, outage?.bytes ?? least) };
  }

  async function ask<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const began = now();
    let tried = began;
    async function attempt(): Promise<T> {
      tried = now();
      try {
        const result = await work();
        if (outage && bytes >= outage.bytes) outage = undefined;
        return result;
      } catch (error) {
        fail(bytes, error);
        throw error;
      }
    }
    // Before the next try would pass the time: a store that hangs takes long to say so.
    const isLate = () => {
      const next = now() + (now() - tried) + pauseMs;
      return next - Math.min(began, outage?.since ?? began) > longestOutageMs;
    };
    return retryPolicy.run(attempt, (error) =>
      error instanceof StoreError && isLate() ? new StoreGivenUp(resultStore, error.cause) : undefined,
    );
  }

  async function heldBy(tenant: string) {
    const known = tenants.get(tenant);
    if (known && now() - known.readAt < freshMs) return known;
    const readAt = now();
    const { results: bytes } = await store.held(tenant);
    const held = Object.assign(tenants.get(tenant) ?? { reserved: 0 }, { bytes, readAt });
    tenants.set(tenant, held);
    return held;
  }

  return {
    get: (name: string) => ask(0, () => results.get(name)),
    put: (name: string, bytes: Uint8Array) => ask(bytes.length, () => results.put(name, bytes)),
    /** Counts bytes of a result until the returned function is called; `too_large` where they have no room. */
    async reserve(tenant: string, bytes: number): Promise<(stored: boolean) => void> {
      const held = await heldBy(tenant);
      if (held.bytes + held.reserved + bytes > mostBytes) {
        const message = `The results of your jobs may hold ${mostBytes} bytes, and there is no room for this one. Delete jobs that have ended, or wait until they expire.`;
        throw new GatewayError('too_large', { message });
      }
      held.reserved += bytes;
      return (stored) => {
        held.reserved -= bytes;
        if (stored) held.bytes += bytes;
      };
    },
  };
}
