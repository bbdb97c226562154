import { type Measured, meanMs, mix, product, world } from './measure.js';

/** A time until something that comes at random, by its mean. */
export function exponential(random: () => number, mean: number): number {
  return -Math.log(1 - random()) * mean;
}

/** Shares of so many tenants by a Zipf law of exponent 1, the largest first; their sum is 1. */
export function zipf(tenants: number): number[] {
  const weights = Array.from({ length: tenants }, (_, at) => 1 / (at + 1));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Chooses by these shares. */
export function chooser(shares: readonly number[]): (random: () => number) => number {
  let sum = 0;
  const bounds = shares.map((share) => (sum += share));
  return (random) => {
    const at = random() * sum;
    let [low, high] = [0, bounds.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((bounds[middle] as number) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}

/** Calls a second of one gateway at peak. */
export function peakCalls(from: Measured): number {
  return (world.peakLoad.value * world.cores.value * 1000) / meanMs(from);
}

type Demand = ReturnType<typeof demandOf>;

/** What a fleet asks of what it stands on, in its hour with the most calls; a second, where nothing else is said. */
export function demandOf(gateways: number, from: Measured) {
  const each = peakCalls(from);
  const calls = gateways * each;
  const shares = zipf(world.tenantsPerGateway.value * gateways);
  const inABatch = each * product.batchSeconds.value;
  /** How likely a batch holds a row to which this part of the calls adds. */
  const held = (part: number) => 1 - Math.exp(-inABatch * part);
  // Three helpers have a row each: cached results are those of the two kinds of borders.
  const helpers = [0.6, 0.25, 0.15];
  let rowsABatch = 0;
  for (const share of shares) {
    for (const part of helpers) rowsABatch += held(share * part);
    rowsABatch += world.quotaShare.value * held(share);
  }
  const batches = gateways / product.batchSeconds.value;
  const items = calls * world.itemShare.value;
  return {
    gateways,
    calls,
    connections: gateways * product.connections.value,
    batches,
    rowsABatch,
    /** Batches that hold the row of the tenant that calls most: they wait for each other. */
    sameRow: batches * held((shares[0] ?? 0) * (helpers[0] ?? 0)),
    lastUsed: gateways / product.lastUsedSeconds.value,
    polls: gateways / product.pollSeconds.value,
    redisCounts: calls * (1 + world.quotaShare.value),
    items,
    itemTransactions: items * product.itemTransactions.value,
    itemCommands: items * product.itemCommands.value,
  };
}

/** All limits, the first first: where something is used up, by the number of gateways. */
export function limitsOf(from: Measured) {
  const used = (what: string, has: number, of: (demand: Demand) => number, raise: string) => {
    return { what, has, at: mostWithin(has, (gateways) => of(demandOf(gateways, from))), raise };
  };
  return [
    used(
      'connections of PostgreSQL',
      world.maxConnections.value - 3,
      ({ connections }) => connections,
      'max_connections = 1000; then a pooler in session mode (BullMQ listens, so not in transaction mode)',
    ),
    used(
      'time of one row: each batch holds that of the largest tenant until it is written (ms)',
      1000,
      ({ sameRow, rowsABatch }) =>
        sameRow * (1000 / from.sameRowCommitsPerSecond.value + rowsABatch * from.batchRowMs.value),
      'a longer time between batches; cells: gateways and a database for a part of the tenants',
    ),
    used(
      'commits of PostgreSQL, without jobs',
      from.commitsPerSecond.value,
      ({ batches, lastUsed }) => batches + lastUsed,
      'a longer time between batches; faster disks; cells',
    ),
    used(
      'commits of PostgreSQL, with items of jobs',
      from.commitsPerSecond.value,
      ({ batches, lastUsed, itemTransactions }) => batches + lastUsed + itemTransactions,
      'several items to a transaction; a database for jobs; cells',
    ),
    used(
      'reads of the change feed',
      from.pollsPerSecond.value,
      ({ polls }) => polls,
      'read replicas (a revocation is as late as they are); LISTEN in place of polling',
    ),
    used(
      'counts of one Redis',
      from.redisCountsPerSecond.value,
      ({ redisCounts, itemCommands }) => redisCounts + itemCommands,
      'Redis Cluster (each count has one key); a Redis for jobs; cells',
    ),
  ].sort((a, b) => a.at - b.at);
}

/** How many gateways ask for no more than there is. */
function mostWithin(has: number, of: (gateways: number) => number): number {
  let [fits, tooMany] = [0, 1];
  while (of(tooMany) <= has && tooMany < 1_000_000) [fits, tooMany] = [tooMany, tooMany * 2];
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1;
    if (of(middle) <= has) fits = middle;
    else tooMany = middle;
  }
  return fits;
}

export const kinds = mix.map(({ kind, share }) => `${Math.round(share * 100)} % ${kind}`).join(', ');
