import { Agenda } from './agenda.js';
import { type Measured, mix } from './inputs.js';
import { chooser, createRandom, exponential, zipf } from './random.js';
import { Station } from './station.js';
import type { Tally } from './tally.js';

export interface Scenario {
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
  const random = createRandom(scenario.seed);
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
  let turn = 0;

  function arrive(isHot: boolean): void {
    const tenant = isHot ? 'hot' : `tenant ${chooseTenant(random)}`;
    const tally = tallyOf(agenda.now, isHot);
    turn += 1;
    open[turn % open.length]?.take({ tenant, ...drawCost(), tally });
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

function costOf(costs: Scenario['costs'], random: () => number): () => { cpuMs: number; expectedMs: number } {
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
