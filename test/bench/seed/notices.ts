import { budgetNotice, type Found, keyNotice } from '../../../gateway/notices/notice.js';
import type { Row } from './bulk.js';
import type { Draw } from './draw.js';
import { dayMs, type SeedTenant } from './tenants.js';

/** What a gateway would have noticed of keys that expire, and of budgets of the months before. */
export function drawNotices(draw: Draw, tenants: readonly SeedTenant[], now: number): Row[] {
  const noticed: { at: number; found: Found | undefined }[] = [];
  for (const { row, keys } of tenants) {
    for (const { row: key } of keys) {
      if (key.expires_at === null) continue;
      const { id, label, created_at, expires_at } = key;
      const expiring = { ...row, key: id, label, created_at, expires_at };
      for (const days of [30, 7, 1, 0]) {
        const at = key.expires_at - days * dayMs;
        if (at < key.created_at || at > now - 60_000) continue;
        noticed.push({
          at,
          found: keyNotice(expiring, at),
        });
      }
    }
    for (let monthsAgo = 3; monthsAgo > 0 && row.plan === 'free'; monthsAgo -= 1) {
      const end = new Date(now).setUTCMonth(new Date(now).getUTCMonth() - monthsAgo, 25);
      const period = new Date(end).toISOString().slice(0, 7);
      const use = { limit: 5_000, used: draw.whole(500, 5_200) };
      noticed.push({ at: end, found: budgetNotice({ ...row, ...use }, 'monthly_quota', period) });
    }
  }
  return noticed
    .sort((a, b) => a.at - b.at)
    .flatMap(({ at, found }) => {
      if (!found || at < now - 62 * dayMs) return [];
      const { name, type, data } = found;
      return [{ name, at, type, tenant_id: data.tenant_id, data: JSON.stringify(data) }];
    });
}
