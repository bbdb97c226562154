import { Admission } from '../../pool/admission.js';
import { FairQueue } from '../../pool/fair-queue.js';
import type { Agenda } from './agenda.js';
import type { Tally } from './tally.js';

export interface SimulatedCall {
  tenant: string;
  /** What it takes of a core. */
  cpuMs: number;
  /** What the pool expects of its kind. */
  expectedMs: number;
  tally: Tally;
}

interface Waiting extends SimulatedCall {
  since: number;
  release: () => void;
}

/** A gateway: its cores, and before them the product's own admission and fair queue. */
export class Station {
  readonly #agenda: Agenda;
  readonly #cores: number;
  readonly #admission: Admission;
  readonly #queue = new FairQueue<Waiting>();
  readonly #running = new Set<Waiting>();
  #isLost = false;

  constructor(agenda: Agenda, cores: number, queue: number) {
    this.#agenda = agenda;
    this.#cores = cores;
    this.#admission = new Admission(cores + queue);
  }

  /** Calls inside. */
  get size(): number {
    return this.#isLost ? 0 : this.#queue.size + this.#running.size;
  }

  take(call: SimulatedCall): void {
    call.tally.arrived += 1;
    const release = this.#admission.take({ tenant: call.tenant, weight: 1, most: null });
    if (typeof release === 'string') {
      call.tally.refused += 1;
      return;
    }
    this.#queue.push(call.tenant, { ...call, since: this.#agenda.now, release });
    this.#start();
  }

  /** Its host is gone, with all that is inside. */
  lose(): void {
    for (const [, { tally }] of this.#queue.items()) tally.lost += 1;
    for (const { tally } of this.#running) tally.lost += 1;
    this.#isLost = true;
  }

  #start(): void {
    while (this.#running.size < this.#cores) {
      const next = this.#queue.shift(({ expectedMs }) => expectedMs);
      if (!next) return;
      const { item } = next;
      this.#running.add(item);
      const waitMs = (this.#agenda.now - item.since) * 1000;
      this.#agenda.in(item.cpuMs / 1000, () => this.#end(item, waitMs));
    }
  }

  #end(call: Waiting, waitMs: number): void {
    if (this.#isLost) return;
    this.#running.delete(call);
    this.#queue.settle(call.tenant, call.expectedMs, call.cpuMs);
    call.release();
    call.tally.serve(waitMs, call.cpuMs);
    this.#start();
  }
}
