import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from './client.js';
import { goodCalls } from './good-calls.js';
import { createRandom, type Random } from './mutate.js';
import { factsOf, type ProcessFacts, resetPeak } from './process-facts.js';
import { createTally, listed, percentile, type Tally } from './tally.js';
import { type HealthSeen, watchHealth } from './watch.js';
import { startWorld, type World } from './world.js';

/** What must hold. */
export interface Bounds {
  /** Longest wait for `/healthz` that was the gateway's own doing, and not its neighbours' on the machine. */
  healthMs: number;
  /** Memory after the attack over that before. */
  backMb: number;
  /** Descriptors after the attack over those before. */
  descriptors: number;
  /** 5xx that may be answered; none else, for the others are bugs. */
  serverErrors: readonly number[];
  /** Of the good calls, which must all succeed where this is given. */
  goodP99Ms?: number;
  /** Peak of memory over that before. */
  riseMb?: number;
}

/** As the README promises. */
const strict: Bounds = { healthMs: 50, backMb: 100, descriptors: 12, serverErrors: [502, 503, 504] };

/**
 * For tests on a machine that others use too, and with any Node's heap: only what no busy neighbour explains fails, such as
 * uploads that stay in memory. The exact figures are the soak's.
 */
export const lenient: Partial<Bounds> = { healthMs: 5_000, backMb: 300 };

interface Seen {
  name: string;
  seed: number;
  tally: Tally;
  health: HealthSeen;
  before: ProcessFacts | undefined;
  peakMb: number | undefined;
  after: ProcessFacts | undefined;
  alive: boolean;
}

export interface Report extends Seen {
  /** Empty where all bounds held. */
  problems: string[];
}

/** Holds what was seen against the bounds; gives a line for each that was passed. */
function judge(seen: Seen, bounds: Bounds, said: readonly string[]): string[] {
  const { tally, health, before, after, peakMb, alive } = seen;
  const problems = [...tally.faults];
  const expect = (holds: boolean, problem: string) => {
    if (!holds) problems.push(problem);
  };
  expect(alive, `the gateway ended: ${said.join(' | ')}`);
  expect(health.samples > 0, '/healthz was never asked');
  expect(health.maxExcessMs <= bounds.healthMs, `/healthz took ${health.maxExcessMs.toFixed(0)} ms`);
  for (const statuses of [tally.statuses, tally.goodStatuses]) {
    const bad = [...statuses].filter(([status]) => status >= 500 && !bounds.serverErrors.includes(status));
    expect(bad.length === 0, `answered ${listed(new Map(bad))}: ${said.join(' | ')}`);
  }
  if (bounds.goodP99Ms !== undefined) {
    const p99 = percentile(tally.goodMs, 0.99);
    const all = tally.goodMs.length > 0 && tally.goodStatuses.size === 1;
    expect(all, `good calls were answered ${listed(tally.goodStatuses) || 'never'}`);
    expect(!(p99 > bounds.goodP99Ms), `good calls took ${p99.toFixed(0)} ms (p99)`);
  }
  if (before && after) {
    const back = after.rssMb - before.rssMb;
    expect(back <= bounds.backMb, `memory stayed ${back.toFixed(0)} MB higher`);
    const descriptors = after.descriptors - before.descriptors;
    expect(descriptors <= bounds.descriptors, `${descriptors} descriptors stayed open`);
  }
  if (before && peakMb !== undefined && bounds.riseMb !== undefined) {
    const rise = peakMb - before.rssMb;
    expect(rise <= bounds.riseMb, `memory rose by ${rise.toFixed(0)} MB`);
  }
  return problems;
}

/** How much of an attack there is. */
export interface Scale {
  /** Calls of one kind. */
  calls: number;
  /** For attacks that hold something open. */
  seconds: number;
}

export interface Scenario {
  name: string;
  /** Of the gateway, on top of the world's own; undefined takes one of those away. */
  env?: NodeJS.ProcessEnv;
  bounds?: Partial<Bounds>;
  attack(world: World, parts: { scale: Scale; random: Random; tally: Tally }): Promise<void>;
}

/** Several attacks in turn on one gateway, by the bounds of the first. */
export function inTurn(name: string, scenarios: readonly Scenario[]): Scenario {
  return {
    ...scenarios[0],
    name,
    async attack(world, parts) {
      for (const { attack } of scenarios) await attack(world, parts);
    },
  };
}

/** How often `/healthz` is asked. */
const everyMs = 15;

/** How long memory and descriptors may take to come back. */
const patienceMs = 15_000;

/** Starts a gateway, attacks it while it is watched, and judges what was seen. */
export async function runScenario(
  scenario: Scenario,
  { scale, seed, bounds }: { scale: Scale; seed: number; bounds?: Partial<Bounds> },
): Promise<Report> {
  const world = await startWorld(scenario.env);
  try {
    const tally = createTally();
    await warmUp(world, 12);
    world.collect();
    await sleep(300);
    const before = factsOf(world.pid);
    resetPeak(world.pid);
    const health = await watchHealth(world, everyMs);
    await scenario.attack(world, { scale, random: createRandom(seed), tally });
    const peakMb = factsOf(world.pid)?.peakMb;
    const seen = await health.stop();
    const allowed = { ...strict, ...scenario.bounds, ...bounds };
    const after = await settle(world, before?.rssMb, before?.descriptors, allowed);
    const report = {
      name: scenario.name,
      seed,
      tally,
      health: seen,
      before,
      peakMb,
      after,
      alive: world.alive(),
    };
    return { ...report, problems: judge(report, allowed, world.said()) };
  } finally {
    await world.close();
  }
}

/** Loads what is loaded at the first call, so that it does not look like a leak. */
async function warmUp(world: World, times: number): Promise<void> {
  const client = createClient(world.url, 4);
  const list = { path: `/mcp?ak=${world.key}`, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' };
  const calls = [...Object.values(goodCalls(world, world.key)), list];
  await Promise.all(
    Array.from({ length: times }, (_, at) => client.call(calls[at % calls.length] ?? { path: '/' })),
  );
  client.close();
}

/** Waits until memory and descriptors are back. */
async function settle(
  world: World,
  rssMb: number | undefined,
  descriptors: number | undefined,
  bounds: Bounds,
) {
  const end = performance.now() + patienceMs;
  let facts = factsOf(world.pid);
  while (world.alive() && rssMb !== undefined && descriptors !== undefined && performance.now() < end) {
    world.collect();
    await sleep(500);
    facts = factsOf(world.pid);
    const back = (facts?.rssMb ?? 0) - rssMb <= bounds.backMb;
    if (back && (facts?.descriptors ?? 0) - descriptors <= bounds.descriptors) break;
  }
  return facts;
}
