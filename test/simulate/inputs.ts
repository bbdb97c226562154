/** A figure that the simulation is fed with, and where it is from. */
export interface Input {
  value: number;
  unit: string;
  source: string;
}

const input = (value: number, unit: string, source: string): Input => ({ value, unit, source });

/** A floor: the machine had other work when this was written down. */
const busyHere = 'npm run simulate -- --measure: two cores that were busy with other work';

/** What was measured; `--measure` measures anew what it can, for that run. */
export const measured = {
  keptMs: input(0.25, 'ms CPU', 'gateway/cache/README.md: a kept result, 768 px, again'),
  smallMs: input(12, 'ms CPU', 'gateway/cache/README.md: a border by url, 768 px, first'),
  largeMs: input(49, 'ms CPU', 'gateway/cache/README.md: a border by url, 2500 px, first'),
  watermarkMs: input(56, 'ms CPU', 'plugins/media/README.md: watermark, jpg, 2500 × 1786'),
  verifyMs: input(0.002, 'ms CPU', 'gateway/keys/README.md: a key that was seen lately'),
  redisTripMs: input(0.07, 'ms', 'gateway/limits/README.md: rate, Redis on the same host'),
  redisCountsPerSecond: input(19_700, 'counts/s', busyHere),
  pollMs: input(2.02, 'ms', busyHere),
  batchMs: input(7.92, 'ms', busyHere),
  batchRowMs: input(0.0476, 'ms', busyHere),
  pollsPerSecond: input(1880, 'looks/s', busyHere),
  commitsPerSecond: input(237, 'commits/s', busyHere),
  sameRowCommitsPerSecond: input(236, 'commits/s', busyHere),
};

export type Measured = typeof measured;

/** What the product does, by its code. */
export const product = {
  connections: input(5, 'connections', 'gateway/database/postgres.ts: of each process'),
  batchSeconds: input(2, 's', 'gateway/database/batch-writer.ts: between two batches'),
  pollSeconds: input(1, 's', 'gateway/keys/verifier.ts: between two looks at the change feed'),
  lastUsedSeconds: input(4, 's', 'gateway/keys/verifier.ts: between two writes of when keys were used'),
  queue: input(64, 'places', 'HELPER_POOL_QUEUE'),
  itemTransactions: input(
    2,
    'transactions',
    'gateway/jobs/runner: start and end of an item that comes alone; a group has them together',
  ),
  itemCommands: input(3, 'commands', 'gateway/jobs/queue: add, take and done of an item'),
};

/** What is assumed of the world; nobody has measured your calls but you. */
export const world = {
  cores: input(2, 'cores', 'a gateway as large as the machine that all was measured on'),
  peakLoad: input(0.7, 'of the cores', 'the hour of the day with the most calls'),
  nightLoad: input(0.15, 'of the cores', 'the hour with the fewest'),
  tenantsPerGateway: input(50, 'tenants', 'they call by a Zipf law of exponent 1'),
  quotaShare: input(0.5, 'of the calls', 'of tenants that have a monthly quota: a second count'),
  itemShare: input(0.1, 'of the calls', 'as many items of jobs beside them'),
  maxConnections: input(100, 'connections', 'PostgreSQL as it comes'),
  autoscalerSeconds: input(90, 's', 'from a lost zone to gateways in its place'),
};

/** What is called: of which kind how many of the calls. */
export const mix = [
  { kind: 'kept', share: 0.5, ms: (from: Measured) => from.keptMs.value },
  { kind: 'small picture', share: 0.3, ms: (from: Measured) => from.smallMs.value },
  { kind: 'large picture', share: 0.12, ms: (from: Measured) => from.largeMs.value },
  { kind: 'watermark', share: 0.08, ms: (from: Measured) => from.watermarkMs.value },
];

/** CPU of the average call, ms. */
export function meanMs(from: Measured): number {
  return mix.reduce((sum, { share, ms }) => sum + share * ms(from), 0) + from.verifyMs.value;
}
