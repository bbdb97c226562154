import { LRUCache } from 'lru-cache';
import type { Access } from '../database/database.js';
import { requireValid } from '../errors.js';
import type { KeyStore } from '../keys/store.js';
import { findTenant } from '../keys/tenant-changes.js';
import { createRequestInput, type RequestLimits, type RequestTables, readRequests } from './requests.js';
import type { UsageTables } from './store.js';
import { byName, createSumsInput, type DayFigures, readDays, readSums } from './sums.js';

interface ReportOptions {
  access: Access<UsageTables & RequestTables>;
  store: Pick<KeyStore, 'tenant' | 'key' | 'tenantNames' | 'keyLabels'>;
  requests: RequestLimits;
  now?: () => number;
}

/** Figures of the overview are as old as this at most, in milliseconds; those who ask for the same meanwhile share one read. */
const freshMs = 5_000;
const mostRemembered = 200;

type DaySpan = Parameters<typeof readDays>[1];

export type UsageReports = ReturnType<typeof createUsageReports>;

/** What was used, with tenants by name and keys with their labels. */
export function createUsageReports({ access, store, requests, now = Date.now }: ReportOptions) {
  const inputs = { sums: createSumsInput(), requests: createRequestInput() };

  const remembered = new LRUCache<string, DayFigures[], DaySpan>({
    ...{ max: mostRemembered, ttl: freshMs },
    fetchMethod: (_, __, { context }) => readDays(access, context),
  });

  /** The id of the tenant whose calls these are; a key's calls are read by its tenant, too. */
  async function tenantOf({ tenant, key }: { tenant?: string | undefined; key?: string | undefined }) {
    if (tenant !== undefined) return (await findTenant(store, tenant)).id;
    return key === undefined ? undefined : (await store.key(key))?.tenant_id;
  }

  /** Tenants and keys that are gone are called by their ids. */
  async function named<Row extends { tenant?: string; key?: string }>(rows: Row[]) {
    const tenants = await store.tenantNames(rows.flatMap(({ tenant }) => tenant ?? []));
    const labels = await store.keyLabels(rows.flatMap(({ key }) => key ?? []));
    return rows.map((row) => ({
      ...row,
      ...(row.tenant !== undefined && { tenant: tenants.get(row.tenant) ?? row.tenant }),
      ...(row.key !== undefined && { label: labels.get(row.key) ?? null }),
    }));
  }

  return {
    inputs,
    requestLimits: requests,
    /** Days with calls, oldest first, of the tenant with this id or of all. */
    async days(span: DaySpan): Promise<DayFigures[]> {
      return (await remembered.fetch(JSON.stringify(span), { context: span })) ?? [];
    },
    /** Sums by one or two dimensions; without `durations` in a quarter of the time. */
    async usage(query: object, { durations = true } = {}) {
      const valid = requireValid(inputs.sums.check(query));
      const tenantId = await tenantOf(valid);
      const rows = await named(await readSums(access, { ...valid, tenantId, durations }, now()));
      // Names have another order than the ids that were read.
      return rows.sort(byName(valid.by));
    },
    /** The last calls, newest first. */
    async requests(query: object) {
      const valid = requireValid(inputs.requests.check(query));
      const tenant = await tenantOf(valid);
      const { ttlSeconds } = requests;
      const { rows, ...cursors } = await readRequests(access, { ttlSeconds, now: now() }, tenant, valid);
      const views = rows.map(({ at, key_id: key, dryrun, ...row }) => ({
        ...{ at: new Date(at).toISOString(), ...row, key },
        dryrun: dryrun === 1,
      }));
      return { requests: await named(views), ...cursors };
    },
  };
}
