import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import type { Ticket } from '../../../pool/pool.js';
import { loggedMs } from '../../http/request.js';
import type { Metrics } from '../../observability/metrics.js';
import type { Tracing } from '../../observability/tracing.js';
import { type Call, CallState } from '../../pipeline/stage.js';
import { type Job, jobState } from '../model.js';
import type { StartedItem } from '../store/transitions.js';
import type { Retry } from './retries.js';

export interface ItemCall extends Call {
  readonly item: StartedItem;
  readonly watch: PoolWatch;
  /** What it has reserved of the quota and not given back: `settle` is to be called once, with whether this was the item's end. */
  readonly quota: {
    settle?: (charge: boolean) => void;
    /** To be called where this was its end: charges its CPU. */
    charge?: () => void;
  };
}

/** Knows when a call waits for what needs no thread of its tenant's share: its input, or its time in the pool. */
class PoolWatch {
  readonly #onInput: () => void;
  #here = 0;
  #ms = 0;
  #inputSince: number | undefined;

  /** `onInput` is called when it begins to wait for its input. */
  constructor(onInput: () => void = () => undefined) {
    this.#onInput = onInput;
  }

  /** Whether a task of it waits or runs in the pool. */
  get isInPool(): boolean {
    return this.#here > 0;
  }

  /** Milliseconds that it was in the pool or waited for its input. */
  get ms(): number {
    return this.#ms + (this.#inputSince === undefined ? 0 : performance.now() - this.#inputSince);
  }

  over(ticket: Ticket): Ticket {
    const run: Ticket['run'] = async (task, options) => {
      const began = performance.now();
      this.#here += 1;
      try {
        return await ticket.run(task, options);
      } finally {
        this.#here -= 1;
        this.#ms += performance.now() - began;
      }
    };
    return { ...ticket, run };
  }

  waitsForInput(): void {
    this.#inputSince = performance.now();
    this.#onInput();
  }

  hasInput(): void {
    this.#ms = this.ms;
    this.#inputSince = undefined;
  }
}

/** Makes the call of an item of which nothing has been done yet. */
export function createItemCall(item: StartedItem, tracing?: Tracing, onInput?: () => void): ItemCall {
  const state = new CallState(randomUUID());
  const { json, fields = [], files } = item.input;
  const texts = [json ?? '', ...fields.flat()].map((text) => Buffer.byteLength(text));
  for (const bytes of [...texts, ...files.map((file) => file.bytes)]) state.bytesIn += bytes;
  const { job, index, attempt } = item;
  const { tenant_id: tenant, service } = item.of;
  if (tracing) state.trace = tracing.item({ service, tenant, job, index, attempt });
  return { state, bodyBytes: 0, item, watch: new PoolWatch(onInput), quota: {} };
}

/** Writes items and jobs to the log, the metrics and the traces. */
export function createItemLog(logger: Logger, observe: Metrics['observeItem'] | undefined) {
  function lineOf({ item, state }: ItemCall) {
    const { caller, code, fault } = state;
    return {
      ...{ request_id: state.requestId, trace_id: state.trace?.id },
      ...{ job: item.job, index: item.index, service: item.of.service, code },
      ...{ tenant: caller?.tenant.name, key: item.of.key_id, dryrun: state.dryrun || undefined },
      ...{ attempt: item.attempt > 1 ? item.attempt : undefined, err: fault },
    };
  }

  return {
    /** An item has come to its end, this long after it was begun here. */
    ended(call: ItemCall, { ms, waitMs }: { ms: number; waitMs: number }): void {
      const { state, item } = call;
      const line = { ...lineOf(call), ms: loggedMs(ms) };
      if (state.fault !== undefined) logger.error(line, 'item failed');
      else logger.info(line, 'item');
      observe?.({
        service: item.of.service,
        code: state.code ?? 'ok',
        waitSeconds: waitMs / 1000,
        taskMs: state.taskMs,
        weight: state.caller?.tenant.weight ?? 1,
      });
    },
    /** Another process has ended it first, which is the one that counts it. */
    endedBefore(call: ItemCall): void {
      logger.info(lineOf(call), 'item had ended already');
    },
    /** It is to be worked on again, by the process that leases it. */
    again(call: ItemCall, { counted, delayMs }: Retry): void {
      if (!counted) return;
      logger.warn({ ...lineOf(call), delay_ms: delayMs }, 'item failed by a fault here, and is tried again');
    },
    /** Nothing more is done here for one, whatever has become of it. */
    left({ state: { trace, code, fault } }: ItemCall): void {
      trace?.end({ code, isFault: fault !== undefined });
    },
    jobEnded(job: Job): void {
      const { id, service, total, done, failed, cancelled } = job;
      logger.info({ job: id, service, state: jobState(job), total, done, failed, cancelled }, 'job ended');
    },
  };
}
