import type { KeyView } from '../keys/views.js';
import { formatTable } from './table.js';

/** A tenant's keys as `keys list` shows them. */
export function keyTable(keys: KeyView[]): string {
  const headings = ['ID', 'STATE', 'KEY', 'LABEL', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'IN GRACE'];
  const rows = keys.map((key) => [
    key.id,
    key.state,
    key.hint,
    key.label ?? '-',
    key.scopes?.join(',') ?? 'all',
    minute(key.created_at),
    minute(key.expires_at),
    minute(key.last_used_at),
    graceOf(key),
  ]);
  return formatTable(headings, rows);
}

function graceOf(key: KeyView): string {
  const inGrace = key.secrets.filter((secret) => secret.expires_at !== null);
  return inGrace.map((secret) => `${secret.hint} until ${minute(secret.expires_at)}`).join(', ') || '-';
}

/** `2030-01-31T18:00Z`: to the minute is enough for people, and the zone stays on it. */
function minute(time: string | null): string {
  return time === null ? '-' : `${time.slice(0, 16)}Z`;
}
