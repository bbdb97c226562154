import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from './client.js';
import { goodCalls } from './good-calls.js';
import { type Bounds, judge, type Report, strict } from './judge.js';
import { factsOf, resetPeak } from './process-facts.js';
import { createRandom, type Random } from './random.js';
import { createTally, type Tally } from './tally.js';
import { watchHealth } from './watch.js';
import { startWorld, type World } from './world.js';

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
