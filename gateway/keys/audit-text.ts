type Detail = Record<string, unknown>;

/** What an entry is about, in words. */
interface Subject {
  tenant: string;
  key: string;
  /** Whose people: a tenant's, or the gateway's own. */
  group: string;
  detail: Detail;
}

type Words = string | ((of: Subject) => string);

/** What each action was, behind its actor. In a text %tenant and %key are filled in, and its details follow. */
const words = {
  'tenant.create': ({ tenant }) => `created the tenant ${tenant}`,
  'tenant.limits': 'changed limits of %tenant',
  'tenant.edit': 'edited the tenant %tenant',
  'tenant.rename': ({ detail: { from, to } }) => `renamed the tenant ${textOf(from)} to ${textOf(to)}`,
  'tenant.suspend': 'suspended the tenant %tenant',
  'tenant.resume': 'resumed the tenant %tenant',
  'tenant.delete': ({ detail: { name, ...contents } }) =>
    `deleted the tenant ${textOf(name)}${detailsOf(contents)}`,
  'tenant.webhook_secret': 'was shown the webhook secret of %tenant',
  'tenant.rotate_webhook_secret': ({ tenant }) =>
    `replaced the webhook secret of ${tenant}; the old one signs as well for 1 day`,
  'plan.put': ({ detail: { name, new: isNew, ...values } }) =>
    `${isNew ? 'made' : 'changed'} the plan ${textOf(name)}${detailsOf(values)}`,
  'plan.delete': ({ detail }) => `deleted the plan ${textOf(detail.name)}`,
  'key.issue': ({ key, detail: { scopes, expires_at } }) =>
    `issued ${key} for ${listOf(scopes) || 'every helper'}${expires_at ? `, until ${textOf(expires_at)}` : ''}`,
  'key.rotate': ({ key, detail: { grace_seconds: grace } }) =>
    `rotated ${key}; ${grace === 0 ? 'no old secret works any more' : `the old secret works for ${timeOf(grace)}`}`,
  'key.end_grace': ({ key }) => `ended the grace of ${key}; only its newest secret works`,
  'key.revoke': 'revoked %key',
  'key.edit': 'edited %key',
  'key.pause': 'paused %key',
  'key.resume': 'resumed %key',
  'key.signing_secret': 'was shown the signing secret of %key',
  'key.rotate_signing': ({ key }) =>
    `replaced the signing secret of ${key}; urls that were signed before open nothing`,
  'recipe.put': ({ tenant, detail }) =>
    `${detail.new ? 'added' : 'changed'} the recipe ${textOf(detail.recipe)} of ${tenant}`,
  'recipe.delete': ({ tenant, detail }) => `deleted the recipe ${textOf(detail.recipe)} of ${tenant}`,
  'member.invite': ({ group, detail: { note, role } }) =>
    `invited ${textOf(note ?? 'somebody')} to ${group}${role ? ` as ${textOf(role)}` : ''}`,
  'member.cancel_invite': ({ group }) => `cancelled an invitation to ${group}`,
  'member.join': ({ group, detail: { role } }) => `joined ${group}${role ? ` as ${textOf(role)}` : ''}`,
  'member.remove': ({ group, detail }) => `removed ${textOf(detail.email)} from ${group}`,
  'member.role': ({ group, detail: { email, role, before } }) =>
    `made ${textOf(email)} ${textOf(role)} of ${group}${before ? `, who was ${textOf(before)}` : ''}`,
  'account.sign_in': ({ detail: { address, through } }) =>
    `signed in from ${textOf(address)}${through ? ` through ${textOf(through)}` : ''}`,
  'account.sign_in_failed': 'failed to sign in',
  'account.change_password': 'changed their password',
  'account.connect': 'connected an account',
  'account.end_session': 'ended a session of their own',
  'account.recovery_code': 'used a recovery code',
  'account.rename': 'changed their name or e-mail',
  'account.second_factor': 'changed a second factor',
  'token.create': ({ detail: { label, role, expires_at } }) =>
    `made the API token ${textOf(label)} as ${textOf(role)}${expires_at ? `, until ${textOf(expires_at)}` : ''}`,
  'token.revoke': ({ detail }) => `revoked the API token ${textOf(detail.label)}`,
  'operator.reset': 'reset the password of an operator',
  'operator.notices_secret': "was shown the secret of the operator's notices",
} satisfies Record<string, Words>;

export type AuditAction = keyof typeof words;

/** Who did what. Only ever added to; never holds a secret. */
export interface AuditEntry {
  /** Rises in the order of the commits, so that it serves as the feed of changes too. */
  id: number;
  at: number;
  actor: string;
  action: AuditAction;
  tenant_id: string | null;
  key_id: string | null;
  detail: Record<string, unknown>;
}

export const auditActions = Object.keys(words) as AuditAction[];

/** An entry as a sentence without its actor; `tenant` and `label` are the names of what it is about, where they are known. */
export function auditText(
  { action, key_id, tenant_id, detail }: Pick<AuditEntry, 'action' | 'key_id' | 'tenant_id' | 'detail'>,
  { tenant = tenant_id, label }: { tenant?: string | null | undefined; label?: string | null | undefined },
): string {
  const name = textOf(tenant ?? detail.name ?? detail.tenant ?? 'a tenant');
  const key = label ? `the key ${label} (${key_id})` : `the key ${key_id}`;
  const group = tenant_id === null ? 'the operators' : name;
  // An action of a newer gateway is at least named.
  const text: Words = words[action] ?? action;
  if (typeof text !== 'string') return text({ tenant: name, key, group, detail });
  const filled = text.replace('%tenant', () => name).replace('%key', () => key);
  return filled + detailsOf(detail);
}

/** Values by name, or what each was and is: ": rate from 5 to 10, label ci". */
function detailsOf(detail: Detail): string {
  const parts = Object.entries(detail).map(
    ([field, value]) => `${field.replaceAll('_', ' ')} ${textOf(value)}`,
  );
  return parts.length > 0 ? `: ${parts.join(', ')}` : '';
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (Array.isArray(value)) return listOf(value) || 'none';
  if (typeof value !== 'object') return String(value).replace(isoTime, '$1 $2 UTC');
  const { from, to } = value as Detail;
  return `from ${textOf(from)} to ${textOf(to)}`;
}

/** To the second or finer; people read it to the minute. */
const isoTime = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z$/;

const listOf = (values: unknown) => (Array.isArray(values) ? values.join(', ') : '');

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Seconds in the largest unit that gives a whole number: "1 hour", "90 minutes". */
export function timeOf(value: unknown): string {
  const seconds = Number(value);
  const [unit, length] = units.find(([, length]) => seconds % length === 0) ?? ['second', 1];
  const count = seconds / length;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** How many there are of each kind, in words: "1 key, 2 recipes". */
export function countsOf(contents: Record<string, number>): string {
  const counts = Object.entries(contents).map(([kind, count]) =>
    count === 1 ? `1 ${kind.replace(/s$/, '')}` : `${count} ${kind}`,
  );
  return counts.join(', ');
}
