import { Admission } from '../../pool/admission.js';
import { FairQueue } from '../../pool/fair-queue.js';
import { createRandom } from '../soak/mutate.js';
import { chooser, exponential, zipf } from './demand.js';
import { type Measured, mix } from './measure.js';

/** What is to happen at which moment of the simulated time, in seconds. It is a short list: what each core and each source does next. */
class Agenda {
  readonly #entries: { at: number; run: () => void }[] = [];
  now = 0;

  in(seconds: number, run: () => void): void {
    this.#entries.push({ at: this.now + seconds, run });
  }

  /** Lets happen what is to happen until then. */
  runUntil(end: number): void {
    for (;;) {
      let first = 0;
      for (const [at, entry] of this.#entries.entries())
        if (entry.at < (this.#entries[first]?.at ?? 0)) first = at;
      const next = this.#entries[first];
      if (!next || next.at > end) break;
      this.#entries.splice(first, 1);
      this.now = next.at;
      next.run();
    }
    this.now = end;
  }
}

/** Buckets of waits, each 5 % longer than the one before, from 0.01 ms on. */
const [firstMs, growth, buckets] = [0.01, 1.05, 400];

/** What became of calls, and how long those waited that were served. */
export class Tally {
  arrived = 0;
  served = 0;
  refused = 0;
  lost = 0;
  waitMsSum = 0;
  cpuMs = 0;
  readonly #waits = new Uint32Array(buckets);

  serve(waitMs: number, cpuMs: number): void {
    this.served += 1;
    this.waitMsSum += waitMs;
    this.cpuMs += cpuMs;
    const bucket = waitMs <= firstMs ? 0 : Math.ceil(Math.log(waitMs / firstMs) / Math.log(growth));
    const at = Math.min(buckets - 1, bucket);
    this.#waits[at] = (this.#waits[at] as number) + 1;
  }

  /** The wait that this part of the served calls did not pass, ms. */
  waitMs(part: number): number {
    let left = this.served * part;
    for (const [at, calls] of this.#waits.entries()) {
      left -= calls;
      if (left <= 0 && this.served > 0) return at === 0 ? 0 : firstMs * growth ** at;
    }
    return 0;
  }
}

/** `cpuMs` of a core are used, `expectedMs` is what the pool expects of its kind. */
type SimulatedCall = { tenant: string; cpuMs: number; expectedMs: number; tally: Tally };

type Waiting = SimulatedCall & { since: number; release: () => void };

/** A gateway: its cores, and before them the product's own admission and fair queue. */
class Station {
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

  accept(call: SimulatedCall): void {
    call.tally.arrived += 1;
    const release = this.#admission.acquire({ tenant: call.tenant, weight: 1, most: null });
    if (typeof release === 'string') {
      call.tally.refused += 1;
      return;
    }
    this.#queue.push(call.tenant, { ...call, since: this.#agenda.now, release });
    this.#start();
  }

  /** Its host is gone, with all that is inside. */
  lose(): void {
    for (const { tally } of [...this.#queue.items(), ...this.#running]) tally.lost += 1;
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

interface Scenario {
  gateways: number;
  cores: number;
  queue: number;
  tenants: number;
  seconds: number;
  seed: number;
  /** Calls a second of all tenants but the hot one, at a moment. */
  rate: (at: number) => number;
  /** Of the hot tenant. */
  hotRate?: (at: number) => number;
  /** A zone goes: this part of the gateways from one moment on, until others are there. */
  loss?: { part: number; from: number; to: number };
  /** CPU of calls by kind; `exponential` gives one kind with this mean instead, as the theory of queues has it. */
  costs: Measured | { exponentialMs: number };
  /** Which tally counts a call that comes now. */
  tallyOf: (at: number, isHot: boolean) => Tally;
}

/** Runs it; gives how many calls are inside at the end. */
export function simulate(scenario: Scenario): { inside: number } {
  const { gateways, cores, queue, seconds, rate, hotRate = () => 0, loss, tallyOf } = scenario;
  const random = createRandom(scenario.seed).next;
  const agenda = new Agenda();
  const all: Station[] = [];
  let open: Station[] = [];
  const add = (number: number) => {
    for (let made = 0; made < number; made += 1) {
      const station = new Station(agenda, cores, queue);
      all.push(station);
      open.push(station);
    }
  };
  const chooseTenant = chooser(zipf(scenario.tenants));
  const drawCost = costOf(scenario.costs, random);
  let arrived = 0;

  function arrive(isHot: boolean): void {
    const tenant = isHot ? 'hot' : `tenant ${chooseTenant(random)}`;
    const tally = tallyOf(agenda.now, isHot);
    arrived += 1;
    open[arrived % open.length]?.accept({ tenant, ...drawCost(), tally });
  }

  /** At random, by a rate that changes: drawn by the highest one, of which what is too many is left out. */
  function keepComing(of: (at: number) => number, isHot: boolean): void {
    const most = highest(of, seconds);
    if (most === 0) return;
    const next = () => {
      if (random() * most < of(agenda.now)) arrive(isHot);
      agenda.in(exponential(random, 1 / most), next);
    };
    agenda.in(exponential(random, 1 / most), next);
  }

  add(gateways);
  keepComing(rate, false);
  keepComing(hotRate, true);
  if (loss) {
    const number = Math.round(gateways * loss.part);
    agenda.in(loss.from, () => {
      const gone = open.slice(0, number);
      open = open.slice(number);
      for (const station of gone) station.lose();
    });
    agenda.in(loss.to, () => add(number));
  }
  agenda.runUntil(seconds);
  return { inside: all.reduce((sum, { size }) => sum + size, 0) };
}

function costOf(costs: Scenario['costs'], random: () => number) {
  if ('exponentialMs' in costs) {
    const mean = costs.exponentialMs;
    return () => ({ cpuMs: exponential(random, mean), expectedMs: mean });
  }
  const chooseKind = chooser(mix.map(({ share }) => share));
  const times = mix.map(({ ms }) => ms(costs));
  return () => {
    const expectedMs = times[chooseKind(random)] as number;
    // Pictures differ: by half to both sides.
    return { cpuMs: expectedMs * (0.5 + random()), expectedMs };
  };
}

function highest(of: (at: number) => number, seconds: number): number {
  let most = 0;
  for (let step = 0; step <= 1000; step += 1) most = Math.max(most, of((seconds * step) / 1000));
  return most;
}
