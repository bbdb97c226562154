import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { recipesFolder } from '../plugins/paths.js';

/** A tenant's own values, as they are stored; null is the gateway's default (see `EffectiveLimits`). */
export interface TenantLimits {
  /** Requests a second; 0 is no limit. */
  rate: number | null;
  /** Requests that may come at once on top of a steady rate. */
  burst: number | null;
  /** Successful calls a calendar month (UTC). */
  monthly_quota: number | null;
  /** Pool tasks waiting or running at once. */
  in_flight: number | null;
  /** Milliseconds of CPU that its calls may cost in a calendar month (UTC). */
  monthly_cpu_ms: number | null;
}

/** What most tenants have; one object for all of them. */
export const noLimits: TenantLimits = {
  rate: null,
  burst: null,
  monthly_quota: null,
  in_flight: null,
  monthly_cpu_ms: null,
};

/** A key's own limits below its tenant's: a call has to be allowed by both. Null is no limit of its own. */
export type KeyLimits = Pick<TenantLimits, 'rate' | 'monthly_quota' | 'monthly_cpu_ms'>;

/** What most keys have; one object for all of them. */
export const noKeyLimits: KeyLimits = { rate: null, monthly_quota: null, monthly_cpu_ms: null };

/** A named set of limits that tenants refer to. */
export interface Plan {
  name: string;
  limits: TenantLimits;
  weight: number | null;
  created_at: number;
  updated_at: number;
}

/** A customer or team: the owner of keys, and the unit of limits and fairness. All times are ms since 1970. */
export interface Tenant {
  id: string;
  name: string;
  created_at: number;
  /** Its own values, which win over those of its plan. */
  limits: TenantLimits;
  /** Its own share of the pool against the other tenants', 1 to 100. */
  weight: number | null;
  plan: Pick<Plan, 'name' | 'limits' | 'weight'> | null;
  /** Since when all its calls are refused. */
  suspended_at: number | null;
  /** Its id in the operator's own systems. */
  external_id: string | null;
  note: string | null;
  /** Where its notices go. */
  notice_url: string | null;
  /** Rises when the secret of its webhooks is replaced. */
  webhook_version: number;
  /** When that was last; webhooks are signed with the secret before as well for a while. */
  webhook_rotated_at: number | null;
}

/** Of a new tenant. */
export const newTenant = {
  limits: noLimits,
  weight: null,
  plan: null,
  suspended_at: null,
  external_id: null,
  note: null,
  notice_url: null,
  webhook_version: 1,
  webhook_rotated_at: null,
} satisfies Partial<Tenant>;

/** An identity that lasts over rotations; what a caller sends is one of its secrets. */
export interface Key {
  /** Public, e.g. `key_4fGhJ2kLm9`. */
  id: string;
  tenant_id: string;
  label: string | null;
  /** Service ids or groups such as `text/*`; null is every helper. */
  scopes: string[] | null;
  expires_at: number | null;
  created_at: number;
  revoked_at: number | null;
  /** Since when its calls are refused, until it is resumed. */
  paused_at: number | null;
  last_used_at: number | null;
  /** Rises when its signing secret is replaced; what was signed with an earlier version has ended. */
  signing_version: number;
  limits: KeyLimits;
}

/** Of a new key. */
export const newKey = {
  revoked_at: null,
  paused_at: null,
  last_used_at: null,
  signing_version: 1,
  limits: noKeyLimits,
} satisfies Partial<Key>;

/** One string that opens a key. The string itself is not stored. */
export interface Secret {
  id: string;
  key_id: string;
  /** SHA-256 of the whole key, hexadecimal. */
  hash: string;
  /** The first seven characters, e.g. `hg_Ab3d`. */
  prefix: string;
  /** The last four, which belong to the checksum. */
  suffix: string;
  created_at: number;
  /** The end of its grace, once a newer secret has replaced it. */
  expires_at: number | null;
  /** When it was ended by hand. A clock set back revives `expires_at`, but must not revive a leaked secret. */
  ended_at: number | null;
}

/** With its secrets, the oldest first, and its tenant's name. */
export type KeyWithSecrets = Key & { secrets: Secret[]; tenant: string };

/** A tenant's own recipe, which its keys call as `recipes/<name>`. */
export interface Recipe {
  tenant_id: string;
  name: string;
  /** As it was given, in JSON. */
  definition: string;
  created_at: number;
  updated_at: number;
}

/** What a look-up by id brings. */
export type FoundKey = { key: Key; tenant: Tenant };

/** What a look-up by hash brings. */
export type FoundSecret = FoundKey & { secret: Pick<Secret, 'hash' | 'expires_at' | 'ended_at'> };

export type KeyState = 'active' | 'paused' | 'expired' | 'revoked';

/** The weight of a tenant for which nothing is set. */
export const defaultWeight = 1;

/** A tenant's own values over those of its plan. */
export function limitsInForce({ limits: own, plan }: Pick<Tenant, 'limits' | 'plan'>): TenantLimits {
  if (plan === null) return own;
  const values = Object.entries(own).map(([name, value]) => [
    name,
    value ?? plan.limits[name as keyof TenantLimits],
  ]);
  return Object.fromEntries(values);
}

/** A tenant with what holds for it now. */
export type TenantInForce = Pick<Tenant, 'id' | 'name' | 'limits'> & { weight: number };

export function weightInForce({ weight, plan }: Pick<Tenant, 'weight' | 'plan'>): number {
  return weight ?? plan?.weight ?? defaultWeight;
}

/** A tenant as people and the JSON API see it; times are ISO 8601 in UTC. */
export type TenantView = ReturnType<typeof viewTenant>;

/** A key without anything secret. */
export type KeyView = ReturnType<typeof viewKey>;

/** Where a value in force comes from. */
type InForce = { value: number | null; from: 'tenant' | 'plan' | 'gateway' };

export function viewTenant(tenant: Tenant, defaults: TenantLimits) {
  const { id, name, created_at, limits, plan, suspended_at, external_id, note, notice_url } = tenant;
  const state = suspended_at === null ? ('active' as const) : ('suspended' as const);
  const times = { created_at: iso(created_at), suspended_at: isoOrNull(suspended_at) };
  const named = { plan: plan?.name ?? null, external_id, note, notice_url };
  const chosen = (own: number | null, planned: number | null | undefined, other: number | null): InForce => {
    if (own !== null) return { value: own, from: 'tenant' };
    if (planned !== null && planned !== undefined) return { value: planned, from: 'plan' };
    return { value: other, from: 'gateway' };
  };
  const limit = (of: keyof TenantLimits) => chosen(limits[of], plan?.limits[of], defaults[of]);
  return {
    ...{ id, name, state, ...times, ...named, limits, weight: weightInForce(tenant) },
    /** What holds, and whose value it is: the tenant's own, its plan's or the gateway's. */
    in_force: {
      rate: limit('rate'),
      burst: limit('burst'),
      monthly_quota: limit('monthly_quota'),
      in_flight: limit('in_flight'),
      monthly_cpu_ms: limit('monthly_cpu_ms'),
      weight: chosen(tenant.weight, plan?.weight, defaultWeight),
    },
  };
}

/** A plan as people and the JSON API see it. */
export function viewPlan({ name, limits, weight, created_at, updated_at }: Plan) {
  return { name, limits, weight, created_at: iso(created_at), updated_at: iso(updated_at) };
}

export function viewKey(key: KeyWithSecrets, now: number) {
  const { id, tenant, label, scopes, limits } = key;
  const current = key.secrets.find(isCurrent);
  const state = keyState(key, now);
  const inGrace = key.secrets.filter((secret) => secret !== current && !secretEnded(secret, now));
  const lives = state === 'active' || state === 'paused';
  const working = lives && current ? [current, ...inGrace] : [];
  return {
    id,
    tenant,
    label,
    scopes,
    limits,
    state,
    /** First and last characters of the current secret, e.g. `hg_Ab3d…x9Yz`. */
    hint: current ? hintOf(current) : '',
    created_at: iso(key.created_at),
    expires_at: isoOrNull(key.expires_at),
    revoked_at: isoOrNull(key.revoked_at),
    paused_at: isoOrNull(key.paused_at),
    /** Up to 5 s behind. */
    last_used_at: isoOrNull(key.last_used_at),
    /** The secrets that still work: the current one first, then those in their grace, with its end. */
    secrets: working.map((secret) => ({
      id: secret.id,
      hint: hintOf(secret),
      created_at: iso(secret.created_at),
      expires_at: isoOrNull(secret.expires_at),
    })),
  };
}

/** A recipe as people and the JSON API see it: its definition, with its name and times. */
export interface RecipeView extends Record<'name' | 'created_at' | 'updated_at', string> {
  summary?: string;
  steps: { use: string }[];
}

export function viewRecipe({ name, definition, created_at, updated_at }: Recipe): RecipeView {
  return { name, created_at: iso(created_at), updated_at: iso(updated_at), ...JSON.parse(definition) };
}

/** The definition alone, as it was given. */
export function definitionOf({ name: _name, created_at: _made, updated_at: _changed, ...rest }: RecipeView) {
  return rest;
}

/** The id of a tenant's recipe: its service in calls, and a scope of keys. */
export function recipeId(name: string): string {
  return `${recipesFolder}${name}`;
}

/** The name of the recipe that has this id. */
export function recipeOf(id: string): string | undefined {
  return id.startsWith(recipesFolder) ? id.slice(recipesFolder.length) : undefined;
}

/** What a change has changed, for the audit log: of each value that differs, what it was and is; times in ISO 8601. */
export function differences<T extends object>(before: T, after: T) {
  const shown = (name: string, value: unknown) =>
    name.endsWith('_at') && typeof value === 'number' ? iso(value) : value;
  const names = Object.keys(after) as (keyof T & string)[];
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .map((name) => [name, { from: shown(name, before[name]), to: shown(name, after[name]) }]),
  );
}

export function keyState(key: Pick<Key, 'revoked_at' | 'expires_at' | 'paused_at'>, now: number): KeyState {
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at !== null && key.expires_at <= now) return 'expired';
  return key.paused_at === null ? 'active' : 'paused';
}

/** The secret that the last rotation brought: the only one without an end. */
export function isCurrent(secret: Secret): boolean {
  return secret.ended_at === null && secret.expires_at === null;
}

export function secretEnded(secret: Pick<Secret, 'ended_at' | 'expires_at'>, now: number): boolean {
  return secret.ended_at !== null || (secret.expires_at !== null && secret.expires_at <= now);
}

/** An address may hold a secret, which logs and those who only read must not see: its origin stands for it. */
export function originOf(url: string | null): string | null {
  return url === null ? null : new URL(url).origin;
}

export function iso(time: number): string {
  return new Date(time).toISOString();
}

export function isoOrNull(time: number | null): string | null {
  return time === null ? null : iso(time);
}

function hintOf({ prefix, suffix }: Secret): string {
  return `${prefix}…${suffix}`;
}

/** Whether a key with these scopes (null: all) may call the helper `service`, e.g. `text/remove-stopwords`. */
export function scopeAllows(scopes: readonly string[] | null, service: string): boolean {
  if (scopes === null) return true;
  return scopes.some((scope) =>
    scope.endsWith('/*') ? service.startsWith(scope.slice(0, -1)) : scope === service,
  );
}

/** Every scope that means something where these helpers are served: each of them, and each folder as `folder/*`. */
export function knownScopes(services: readonly string[]): string[] {
  const groups = new Set<string>();
  for (const service of services) {
    const parts = service.split('/');
    for (let depth = 1; depth < parts.length; depth++) groups.add(`${parts.slice(0, depth).join('/')}/*`);
  }
  return [...services, ...groups].sort();
}

const keyPrefix = 'hg_';
/** 27 × log2(62) is 160.7 random bits. */
const randomLength = 27;
const checksumLength = 6;
const keyPattern = new RegExp(`^${keyPrefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** What may be stored of a key, and shown again: the key cannot be computed from it. */
type KeyDigest = Pick<Secret, 'hash' | 'prefix' | 'suffix'>;

/** Draws a new key: `hg_`, 27 random characters of base62, and their CRC32 as 6 characters of base62. */
export function createKey(): string {
  const random = randomBase62(randomLength);
  return keyPrefix + random + checksumOf(random);
}

/** The digest of a text of a key's form. The checksum saves a typo its look-up; anybody can compute it. */
export function parseKey(text: string): KeyDigest | undefined {
  if (!keyPattern.test(text)) return undefined;
  const random = text.slice(keyPrefix.length, -checksumLength);
  return text.endsWith(checksumOf(random)) ? digestOf(text) : undefined;
}

export function digestOf(key: string): KeyDigest {
  return { hash: hashSecret(key), prefix: key.slice(0, keyPrefix.length + 4), suffix: key.slice(-4) };
}

function checksumOf(random: string): string {
  return encodeBase62(crc32(random), checksumLength);
}

/** SHA-256 in hex. Salt and a slow hash are for secrets that can be guessed, which random ones cannot. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

const base62Digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The largest multiple of 62 in a byte; larger bytes are drawn again, for a uniform distribution. */
const unbiasedBytes = 248;

/** `length` uniformly drawn characters (5.95 bits each). Own code: a package would see every key as it is made. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < unbiasedBytes && text.length < length) text += base62Digits[byte % 62];
    }
  }
  return text;
}

/** A non-negative safe integer in base62, most significant digit first, filled up with `0` to `length`. */
export function encodeBase62(value: number, length: number): string {
  let text = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) text = base62Digits[rest % 62] + text;
  return text.padStart(length, '0');
}
