import { createBatchWriter } from '../../../gateway/database/batch-writer.js';
import type { Database } from '../../../gateway/database/database.js';
import { type KeyLimits, noKeyLimits } from '../../../gateway/keys/model.js';
import {
  createLimiter,
  type EffectiveLimits,
  type LimitedTenant,
  type Limiter,
  type LimitVerdict,
} from '../../../gateway/limits/limiter.js';
import { createCounts, createCountsClient } from '../../../gateway/supervisor/shared-counts.js';
import { createQuietLog } from '../usage/quiet.js';

/** The parts of a gateway that limit calls. */
export type TestLimiter = Awaited<ReturnType<typeof createTestLimiter>>;

type LimiterOptions = Parameters<typeof createLimiter>[0];
type TestLimiterOptions = { database: Database } & Partial<LimiterOptions>;

/** A command may take so long here that a busy machine is no outage; tests of Redis that hangs set less. */
const patientMs = 20_000;

export async function createTestLimiter({ database, ...options }: TestLimiterOptions) {
  const logger = createQuietLog();
  const writer = createBatchWriter({ access: database.access(), logger, flushEveryMs: 60_000 });
  const parts = { access: database.access(), writer, logger };
  const limiter = await createLimiter({ ...parts, redisTimeoutMs: patientMs, ...options });
  return {
    limiter,
    logger,
    async close() {
      limiter.close();
      await writer.close();
    },
  };
}

/** The fields of an answer that costs no CPU. */
export const headersOf = (verdict: LimitVerdict) => (verdict.allowed ? verdict.charge(0) : verdict.headers);

let made = 0;

/** A tenant that no other test has, without limits but those given. */
export function tenantWith(limits: Partial<EffectiveLimits>): LimitedTenant {
  made += 1;
  const none: EffectiveLimits = { rate: 0, burst: 0, monthlyQuota: null, inFlight: null, monthlyCpuMs: null };
  return { id: `tenant-${process.pid}-${made}`, limits: { ...none, ...limits } };
}

/** The same tenant's calls by a key with limits of its own. */
export function byKey(tenant: LimitedTenant, limits: Partial<KeyLimits>): LimitedTenant {
  made += 1;
  return { ...tenant, key: { id: `key-${process.pid}-${made}`, limits: { ...noKeyLimits, ...limits } } };
}

/** Counts that processes share through a supervisor, which runs in this one. */
export function createSupervisedCounts(): NonNullable<LimiterOptions['counts']> {
  const counts = createCounts();
  const client = createCountsClient(
    (message) => {
      if (message.kind !== 'count') return;
      void counts.answer(message.requests).then((answers) => client.receive(message.id, answers));
    },
    0.5,
    createQuietLog(),
  );
  return client.shared;
}

/** How many of some calls at once are allowed; they are answered with `status` where one is given. */
export async function allowed(limiter: Limiter, tenant: LimitedTenant, calls: number, status?: number) {
  const verdicts = await Promise.all(Array.from({ length: calls }, () => limiter.take(tenant)));
  const granted = verdicts.filter((verdict) => verdict.allowed);
  if (status !== undefined) for (const verdict of granted) verdict.settle(status);
  return granted.length;
}
