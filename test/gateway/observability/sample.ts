import { createCache } from '../../../gateway/cache.js';
import type { InboundTimeout } from '../../../gateway/http/inbound-budget.js';
import { createMetrics, type MetricsOptions } from '../../../gateway/observability/metrics.js';
import type { Requester } from '../../../pool/admission.js';

/** Metrics of nothing that runs, and what would report to them. */
export function sampleMetrics(options: Partial<MetricsOptions> = {}) {
  let started: (waitMs: number, requester: Requester) => void = () => undefined;
  let left: (slow: InboundTimeout, ms: number) => void = () => undefined;
  const metrics = createMetrics({
    pool: {
      stats: () => ({ running: 0, places: 0, threads: 0 }),
      slowed: () => [],
      watch: (listener) => (started = listener),
    },
    inboundBudget: { stats: () => ({ arriving: 0, bytes: 0 }), watch: (listener) => (left = listener) },
    cache: createCache(0),
    keysAvailable: () => true,
    ...options,
  });
  /** The gateway's own lines but comments, sorted as they come. */
  async function lines(part: string): Promise<string[]> {
    const { body } = await metrics.text();
    return body.split('\n').filter((line) => line.startsWith(`helper_gateway_${part}`));
  }
  return { metrics, lines, started, left };
}
