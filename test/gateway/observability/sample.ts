import { createCache } from '../../../gateway/cache.js';
import type { InboundTimeout } from '../../../gateway/http/inbound-budget.js';
import { createMetrics, type MetricsOptions } from '../../../gateway/observability/metrics.js';
import type { Requester } from '../../../pool/admission.js';

/** Metrics of nothing that runs, and what would tell them of it. */
export function sampleMetrics(options: Partial<MetricsOptions> = {}) {
  let started: (waitMs: number, asker: Requester) => void = () => undefined;
  let left: (slow: InboundTimeout, ms: number) => void = () => undefined;
  const metrics = createMetrics({
    pool: {
      stats: () => ({ running: 0, places: 0, threads: 0 }),
      slowed: () => [],
      watch: (told) => {
        started = told;
      },
    },
    inboundBudget: {
      stats: () => ({ arriving: 0, bytes: 0 }),
      watch: (told) => {
        left = told;
      },
    },
    cache: createCache(0),
    keysAvailable: () => true,
    ...options,
  });
  /** The gateway's own lines but comments, sorted as they come. */
  async function lines(part: string): Promise<string[]> {
    const { body } = await metrics.text();
    return body.split('\n').filter((line) => line.startsWith(`helper_gateway_${part}`));
  }
  return {
    metrics,
    lines,
    started: (waitMs: number, asker: Requester) => started(waitMs, asker),
    left: (slow: InboundTimeout, ms: number) => left(slow, ms),
  };
}
