import { bucketCount, bucketOf } from '../../../gateway/usage/histogram.js';
import { bucketColumns, countColumns } from '../../../gateway/usage/store.js';
import type { Row, Value } from './bulk.js';
import type { Draw } from './draw.js';
import { dayMs, livedAt, type SeedKey, type SeedSize, type SeedTenant } from './tenants.js';

/** What a call of a helper takes in the median, and what it sends and is sent. */
interface Helper {
  id: string;
  status: 200;
  ms: number;
  cpuMs: number;
  bytesIn: number;
  bytesOut: number;
}

const helper = (id: string, ms: number, cpuMs: number, bytesIn: number, bytesOut: number): Helper => ({
  ...{ id, status: 200, ms, cpuMs, bytesIn, bytesOut },
});
const helpers = [
  helper('media/resize', 48, 31, 900_000, 84_000),
  helper('media/convert', 130, 96, 700_000, 150_000),
  helper('media/add-watermark', 90, 52, 800_000, 310_000),
  helper('media/add-border', 85, 47, 820_000, 330_000),
  helper('media/crop', 40, 24, 600_000, 61_000),
  helper('media/rotate', 66, 45, 640_000, 290_000),
  helper('media/info', 12, 3, 500_000, 400),
  helper('pipeline', 170, 120, 910_000, 120_000),
  helper('text/remove-stopwords', 2.4, 0.4, 2_100, 1_600),
  helper('text/diff-two-strings', 3.1, 0.7, 5_200, 900),
];

interface Failure {
  code: string;
  status: number;
  kind: 'errors_client' | 'errors_limited' | 'errors_server';
  ms: number;
}

const failure = (code: string, status: number, kind: Failure['kind'], ms: number): Failure => ({
  ...{ code, status, kind, ms },
});
const failures = [
  failure('invalid_input', 400, 'errors_client', 0.6),
  failure('bad_image', 422, 'errors_client', 9),
  failure('rate_limited', 429, 'errors_limited', 0.3),
  failure('quota_exceeded', 429, 'errors_limited', 0.3),
  failure('source_failed', 502, 'errors_server', 210),
  failure('source_timeout', 504, 'errors_server', 9_900),
  failure('helper_timeout', 504, 'errors_server', 10_050),
  failure('internal', 500, 'errors_server', 22),
];

const failuresOfTexts = failures.filter(({ code }) => !/^(bad|source)_/.test(code));

/** How often a tenant's calls fail, by the code; since three days the second busiest has a source that is down. */
function drawFailureRates({ spread, chance }: Draw, rank: number) {
  const usual: Record<string, number> = {
    invalid_input: 0.006 * spread(),
    bad_image: 0.002 * spread(),
    rate_limited: chance(0.2) ? 0.02 * spread() : 0,
    quota_exceeded: chance(0.04) ? 0.2 : 0,
    source_failed: 0.001 * spread(),
    source_timeout: 0.0002,
    helper_timeout: 0.0001,
    internal: 0.00005,
  };
  return (code: string, ago: number) =>
    rank === 1 && code === 'source_failed' && ago < 3 ? 0.35 : (usual[code] ?? 0);
}

/** What is known of a key's and a tenant's use once its days are drawn. */
export interface Use {
  lastUsed: Map<string, number>;
  /** Calls that ended well, and milliseconds of CPU, of the current month: of the tenant and of each key. */
  calls: Map<string, number>;
  cpuMs: Map<string, number>;
}

interface KeyHabit {
  key: SeedKey;
  uses: Helper[];
  callsADay: number;
  /** On how many of its days it is used. */
  days: number;
}

const shape = [0.18, 0.46, 0.26, 0.08, 0.02];

/** Calls by their duration: most around the median. */
function addBuckets(buckets: number[], { share }: Draw, calls: number, ms: number): void {
  const middle = bucketOf(ms);
  const bucket = (off: number) => Math.min(bucketCount - 1, Math.max(0, middle - 1 + off));
  let left = calls;
  for (const [off, part] of shape.entries()) {
    const count = off === shape.length - 1 ? left : Math.min(left, Math.floor(calls * part + share()));
    buckets[bucket(off)] = (buckets[bucket(off)] ?? 0) + count;
    left -= count;
  }
}

/** Names before the sums, in the order of the table's own key. */
export const dailyNames = ['tenant', 'day', 'key_id', 'service'];
export const failureNames = [...dailyNames, 'code'];
export const sumColumns = [...countColumns, 'cpu_ms', ...bucketColumns];

/** Calls of one kind on one day. */
interface Calls {
  day: string;
  key: string;
  service: string;
  code: string;
  calls: number;
}

/** Values for `sumColumns`; null stands for no calls in a bucket. */
function sumsOf(counts: Record<(typeof countColumns)[number], number>, cpuMs: number, buckets: number[]) {
  return [...countColumns.map((column) => counts[column]), cpuMs, ...buckets.map((count) => count || null)];
}

const noCounts = () => ({
  ...{ calls: 0, errors_client: 0, errors_limited: 0, errors_server: 0 },
  ...{ bytes_in: 0, bytes_out: 0 },
});
const noBuckets = () => new Array<number>(bucketCount).fill(0);

/** The days of one tenant in the order of the table's own key, with failures by code. */
export function drawUsage(draw: Draw, tenant: SeedTenant, rank: number, { days, now }: SeedSize) {
  const { share, chance, whole } = draw;
  const size = tenant.weight * 400 * draw.spread();
  const habits = tenant.keys.map((key): KeyHabit => {
    const allowed = helpers.filter(({ id }) => allows(key.row.scopes, id));
    const uses = draw.some(allowed, whole(1, 3)).sort((a, b) => (a.id < b.id ? -1 : 1));
    return { key, uses, callsADay: size * draw.spread(), days: chance(0.2) ? 1 : share() ** 2 };
  });
  habits.sort((a, b) => (a.key.row.id < b.key.row.id ? -1 : 1));
  const rateOf = drawFailureRates(draw, rank);
  const use: Use = { lastUsed: new Map(), calls: new Map(), cpuMs: new Map() };
  const month = dayOf(now).slice(0, 7);
  const daily: Value[][] = [];
  const failed: Value[][] = [];
  const recent: Calls[] = [];
  const since = dayOf(now - dayMs);
  const add = (to: Map<string, number>, name: string, more: number) =>
    to.set(name, (to.get(name) ?? 0) + more);

  for (let ago = days - 1; ago >= 0; ago -= 1) {
    const at = now - ago * dayMs;
    const day = dayOf(at);
    const isWeekend = [0, 6].includes(new Date(at).getUTCDay());
    // Business grows, and today is not over.
    const rise = (isWeekend ? 0.45 : 1) * (1.5 - ago / days) * (ago === 0 ? (now % dayMs) / dayMs : 1);
    for (const { key, uses, callsADay, days: part } of habits) {
      if (!livedAt(key.row, at) || !chance(part)) continue;
      const of = { day, key: key.row.id };
      for (const { id, ms, cpuMs, bytesIn, bytesOut } of uses) {
        const wanted = Math.floor(callsADay * rise * (0.4 + share()) + share());
        if (wanted === 0) continue;
        const names = [tenant.row.id, day, key.row.id, id];
        const counts = noCounts();
        const buckets = noBuckets();
        for (const { code, kind, ms: failedMs } of id.startsWith('text/') ? failuresOfTexts : failures) {
          const calls = Math.min(wanted - counts.calls, Math.floor(wanted * rateOf(code, ago) + share()));
          if (calls === 0) continue;
          const own = noBuckets();
          addBuckets(own, draw, calls, failedMs);
          const bytes = { bytes_in: calls * 700, bytes_out: calls * 260 };
          failed.push([...names, code, ...sumsOf({ ...noCounts(), ...bytes, calls, [kind]: calls }, 0, own)]);
          if (day >= since) recent.push({ ...of, service: id, code, calls });
          for (const [bucket, more] of own.entries()) buckets[bucket] = (buckets[bucket] ?? 0) + more;
          for (const [column, more] of Object.entries({ ...bytes, calls, [kind]: calls })) {
            counts[column as keyof typeof counts] += more;
          }
        }
        const good = wanted - counts.calls;
        addBuckets(buckets, draw, good, ms);
        if (day >= since) recent.push({ ...of, service: id, code: 'ok', calls: good });
        counts.calls += good;
        counts.bytes_in += good * bytesIn;
        counts.bytes_out += good * bytesOut;
        const spent = Math.round(good * cpuMs * (0.8 + 0.4 * share()) * 100) / 100;
        daily.push([...names, ...sumsOf(counts, spent, buckets)]);
        const moment = ago === 0 ? now - whole(1, 900) * 1_000 : startOf(day) + whole(0, dayMs - 1);
        use.lastUsed.set(key.row.id, moment);
        if (!day.startsWith(month)) continue;
        for (const account of [tenant.row.id, key.row.id]) {
          add(use.calls, account, good);
          add(use.cpuMs, account, spent);
        }
      }
    }
  }
  return { daily, failed, use, requests: drawRequests(draw, tenant, recent, now) };
}

const mostRequests = 1_000;

/** Calls of the last day, one by one: the newest thousand at most, as a gateway stores them. */
function drawRequests(draw: Draw, { row }: SeedTenant, recent: readonly Calls[], now: number): Row[] {
  const { total, one } = draw.weighted(recent, ({ calls }) => calls);
  return Array.from({ length: Math.min(mostRequests, total) }, (): Row => {
    const { key = '', service = '', code = '' } = one() ?? {};
    const { status = 200, ms = 1 } =
      failures.find((failure) => failure.code === code) ?? helpers.find(({ id }) => id === service) ?? {};
    return {
      ...{ tenant: row.id, at: Math.round(now - draw.share() ** 2 * 0.98 * dayMs) },
      ...{ request_id: draw.uuid(), key_id: key, service, status, code },
      ms: Math.round(ms * draw.spread() * 10) / 10,
      dryrun: draw.chance(0.02) ? 1 : 0,
    };
  });
}

function allows(scopes: string | null, service: string): boolean {
  const list = JSON.parse(scopes ?? '["media/*","text/*","pipeline"]') as string[];
  return list.some(
    (scope) => scope === service || (scope.endsWith('/*') && service.startsWith(scope.slice(0, -1))),
  );
}

export const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
const startOf = (day: string) => Date.parse(`${day}T00:00:00Z`);
