import type { UsageRow } from '../../../gateway/site/options.js';
import { services } from './test-site.js';

/** A month of calls of one key, the same each time. */
export function sampleUsage(key: string, days = 30): UsageRow[] {
  return Array.from({ length: days }, (_, ago) => {
    const day = new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    return services.map(({ id }, index) => {
      const calls = Math.round(40 + 30 * Math.sin(ago / 3 + index) + index * 25);
      return {
        day,
        key,
        service: id,
        calls,
        errors: ago % 7 === 0 ? 3 : 0,
        bytes_in: calls * 2_100,
        bytes_out: calls * (id.startsWith('media') ? 184_000 : 900),
        cpu_ms: id.startsWith('media') ? calls * 61.5 : 0,
      };
    });
  }).flat();
}
