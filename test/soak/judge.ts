import type { ProcessFacts } from './process-facts.js';
import { listed, percentile, type Tally } from './tally.js';
import type { HealthSeen } from './watch.js';

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
export const strict: Bounds = { healthMs: 50, backMb: 100, descriptors: 12, serverErrors: [502, 503, 504] };

/**
 * For tests on a machine that others use too, and with any Node's heap: only what no busy neighbour explains fails, such as
 * uploads that stay in memory. The exact figures are the soak's.
 */
export const lenient: Partial<Bounds> = { healthMs: 5_000, backMb: 300 };

export interface Seen {
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
export function judge(seen: Seen, bounds: Bounds, said: readonly string[]): string[] {
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
