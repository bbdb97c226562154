import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Turn } from '../../../pool/turn.js';
import { Ending } from '../../http/ending.js';
import type { Call } from '../../pipeline/stage.js';
import { newCallState } from '../../pipeline/state.js';
import type { Tracing } from '../../tracing/tracing.js';
import type { StartedItem } from '../store/job-store.js';

/** An item as a call of its helper. */
export interface ItemCall extends Call {
  readonly item: StartedItem;
  readonly watch: PoolWatch;
  /** What it has reserved of the quota and not given back: `settle` is to be called once, with whether this was the item's end. */
  readonly quota: { settle?: (charge: boolean) => void };
}

/** Knows when a call waits for what needs no thread of its tenant's share: its input, or its time in the pool. */
export class PoolWatch {
  readonly #onInput: () => void;
  #here = 0;
  #ms = 0;
  #inputSince: number | undefined;

  /** `onInput` is called when it begins to wait for its input. */
  constructor(onInput: () => void = () => undefined) {
    this.#onInput = onInput;
  }

  /** Whether a task of it waits or runs there. */
  get isInPool(): boolean {
    return this.#here > 0;
  }

  /** Milliseconds that it was in the pool or waited for its input. */
  get ms(): number {
    return this.#ms + (this.#inputSince === undefined ? 0 : performance.now() - this.#inputSince);
  }

  over(turn: Turn): Turn {
    const run: Turn['run'] = async (task, host) => {
      const began = performance.now();
      this.#here += 1;
      try {
        return await turn.run(task, host);
      } finally {
        this.#here -= 1;
        this.#ms += performance.now() - began;
      }
    };
    return { ...turn, run };
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
  const state = newCallState(randomUUID(), new Ending());
  const { json, fields = [], files } = item.input;
  const texts = [json ?? '', ...fields.flat()].map((text) => Buffer.byteLength(text));
  for (const bytes of [...texts, ...files.map((file) => file.bytes)]) state.bytesIn += bytes;
  const { job, index, attempt } = item;
  const { tenant_id: tenant, service } = item.of;
  if (tracing) state.trace = tracing.item({ service, tenant, job, index, attempt });
  return { state, bodyBytes: 0, item, watch: new PoolWatch(onInput), quota: {} };
}
