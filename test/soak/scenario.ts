import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, type Client, createClient } from './client.js';
import { createRandom, multipart, type Random } from './mutate.js';
import { factsOf, resetPeak } from './process-facts.js';
import { watchHealth } from './watch.js';
import { startWorld, type World } from './world.js';

/** What became of an attack's calls, and of the good ones that were made meanwhile. */
export type Tally = ReturnType<typeof createTally>;

function createTally() {
  const statuses = new Map<number, number>();
  const goodStatuses = new Map<number, number>();
  const goodMs: number[] = [];
  const faults: string[] = [];
  const add = (map: Map<number, number>, status: number) => map.set(status, (map.get(status) ?? 0) + 1);
  return {
    statuses,
    goodStatuses,
    goodMs,
    faults,
    /** An answer's status; 0 where the connection ended, or was given up, without one. */
    count: (status: number) => void add(statuses, status),
    /** A call that should be served. */
    good(status: number, ms: number) {
      add(goodStatuses, status);
      if (status === 200) goodMs.push(ms);
    },
    /** Something that must not be. */
    fault: (what: string) => void faults.push(what),
  };
}

/** The value below which this share of values lies; not a number where there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** `200 × 31, 413 × 2`. */
function listed(statuses: ReadonlyMap<number, number>): string {
  return [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, times]) => `${status || 'none'} × ${times}`)
    .join(', ');
}

const columns = [
  ['scenario', -40],
  ['calls', 7],
  ['ok', 7],
  ['refused', 7],
  ['good p50/p99 ms', 15],
  ['healthz max ms', 14],
  ['RSS MB before/peak/after', 24],
  ['fds before/after', 16],
  ['verdict', -7],
] as const;

/** Negative widths begin at the left. */
function cells(values: readonly string[]): string {
  return values
    .map((value, at) => {
      const width = columns[at]?.[1] ?? 0;
      return width < 0 ? value.padEnd(-width) : value.padStart(width);
    })
    .join('  ')
    .trimEnd();
}

export const heading = cells(columns.map(([name]) => name));

/** A line of the table, and under it what did not hold. */
export function row({ name, tally, health, before, peakMb, after, problems, seed }: Report): string {
  const all = [...tally.statuses, ...tally.goodStatuses];
  const sum = (which: (status: number) => boolean) =>
    String(all.reduce((total, [status, times]) => total + (which(status) ? times : 0), 0));
  const whole = (value: number | undefined) =>
    value === undefined || Number.isNaN(value) ? '–' : value.toFixed(0);
  const line = cells([
    name,
    sum(() => true),
    sum((status) => status === 200),
    sum((status) => status >= 400),
    `${whole(percentile(tally.goodMs, 0.5))}/${whole(percentile(tally.goodMs, 0.99))}`,
    whole(health.maxMs),
    `${whole(before?.rssMb)}/${whole(peakMb)}/${whole(after?.rssMb)}`,
    `${whole(before?.descriptors)}/${whole(after?.descriptors)}`,
    problems.length === 0 ? 'holds' : 'FAILS',
  ]);
  const below = problems.length > 0 ? [...problems.slice(0, 40), `again with --seed ${seed}`] : [];
  return [line, ...below].join('\n    ');
}

/** Calls that an honest tenant makes. */
export function goodCalls(world: World, key: string) {
  const form = multipart([
    { name: 'width', value: '3' },
    { name: 'format', value: 'jpg' },
    { name: 'file', filename: 'a.jpg', value: world.picture },
  ]);
  return {
    text: { path: `/text/remove-stopwords?text=the+cat&ak=${key}` },
    json: { path: `/text/diff-two-strings?ak=${key}`, body: '{"a":"one\\ntwo","b":"one\\n2"}' },
    upload: { path: `/media/add-border?ak=${key}`, ...form },
    url: {
      path: `/media/add-border?width=3&format=jpg&ak=${key}&url=${encodeURIComponent(`${world.source}/picture`)}`,
    },
  };
}

/** Makes these calls in turns, one at a time, until `goesOn` says no, and counts them as good. */
export async function keepCalling(
  { client, calls, pauseMs, tally }: { client: Client; calls: Call[]; pauseMs: number; tally: Tally },
  goesOn: () => boolean,
): Promise<void> {
  for (let at = 0; goesOn(); at += 1) {
    const { status, ms } = await client.call(calls[at % calls.length] as Call);
    tally.good(status, ms);
    await sleep(pauseMs);
  }
}

/** What must hold. */
interface Bounds {
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

type Report = Awaited<ReturnType<typeof runScenario>>;

/** A line for each bound that was passed. */
function problemsOf(
  { tally, health, before, after, peakMb, alive }: Awaited<ReturnType<typeof attack>>,
  bounds: Bounds,
  said: readonly string[],
) {
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

/** How much of an attack there is: calls of one kind, and seconds for attacks that hold something open. */
export type Scale = { calls: number; seconds: number };

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

/** How often `/healthz` is asked, and how long memory and descriptors may take to come back. */
const [everyMs, settleMs] = [15, 15_000];

/** Starts a gateway, attacks it while it is watched, and compares what was seen with the bounds. */
export async function runScenario(
  scenario: Scenario,
  { scale, seed, bounds }: { scale: Scale; seed: number; bounds?: Partial<Bounds> },
) {
  const world = await startWorld(scenario.env);
  const allowed = { ...strict, ...scenario.bounds, ...bounds };
  try {
    const seen = await attack(world, scenario, scale, seed, allowed);
    return { ...seen, name: scenario.name, seed, problems: problemsOf(seen, allowed, world.said()) };
  } finally {
    await world.close();
  }
}

async function attack(world: World, scenario: Scenario, scale: Scale, seed: number, allowed: Bounds) {
  const tally = createTally();
  await warmUp(world, 12);
  world.collect();
  await sleep(300);
  const before = factsOf(world.pid);
  resetPeak(world.pid);
  const watch = await watchHealth(world, everyMs);
  await scenario.attack(world, { scale, random: createRandom(seed), tally });
  const peakMb = factsOf(world.pid)?.peakMb;
  const health = await watch.stop();
  const after = await settle(world, before, allowed);
  return { tally, health, before, peakMb, after, alive: world.alive() };
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
async function settle(world: World, before: ReturnType<typeof factsOf>, bounds: Bounds) {
  const end = performance.now() + settleMs;
  let facts = factsOf(world.pid);
  while (before && world.alive() && performance.now() < end) {
    world.collect();
    await sleep(500);
    facts = factsOf(world.pid);
    const back = (facts?.rssMb ?? 0) - before.rssMb <= bounds.backMb;
    if (back && (facts?.descriptors ?? 0) - before.descriptors <= bounds.descriptors) break;
  }
  return facts;
}
