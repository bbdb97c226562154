import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pageRoutes } from '../../gateway/site/app.js';
import { createPostgresDatabase, onPostgres } from '../gateway/databases.js';
import { servingPid, startGatewayProcess } from '../gateway/harness.js';
import { master } from '../gateway/signing/signing.js';
import { addressesOf } from '../gateway/site/addresses.js';
import { type BrowserLike, signedIn } from '../gateway/site/browser-like.js';
import { atFullCost } from '../gateway/site/quick-passwords.js';
import { atMost, cpuMsOf, type Goal, printGoals, printTable } from './measure.js';
import type { SeedPlace } from './seed/bulk.js';
import { seed } from './seed.js';

/**
 * Prints how long every page of the site takes beside ten readers, who each ask for a page every few moments, on the seed of 500
 * tenants; what it costs alone; and what a first load is sent. `node dist/test/bench/pages.js [--small]`; on PostgreSQL too,
 * where it answers.
 */
const readers = 10;
const samples = 30;
const samplesAlone = 10;
/** Between two pages of a reader. */
const pauseMs = 200;
const slowestShown = 10;
const kb = 1024;

const size = process.argv.includes('--small') ? { tenants: 50, keys: 400, days: 60 } : {};

/** What else is asked for on some pages: orders, filters, long times. */
const year = new Date(Date.now() - 395 * 86_400_000).toISOString().slice(0, 10);
const spans = ['?days=90', `?from=${year}`];
const queries: Record<string, readonly string[]> = {
  '/overview': ['?by=errors', '?by=cpu_ms'],
  '/search': ['?q=lab', '?q=web'],
  '/tenants': ['?q=labs', '?sort=last_used_at&order=desc', '?sort=errors&order=desc', '?state=suspended'],
  '/keys': ['?q=web', '?state=in_grace', '?state=all&sort=last_used_at&order=desc'],
  '/tenants/:tenant': ['?state=all', '?q=web'],
  '/usage': [...spans, '?by=tenant', '?by=outcome', `?by=tenant&from=${year}`],
  '/tenants/:tenant/usage': [...spans, '?by=key', '?by=outcome', `?by=key&from=${year}`],
  '/requests': ['?code=source_failed', '?code=internal', '?status=5xx'],
  '/tenants/:tenant/requests': ['?code=source_failed', '?status=4xx'],
  '/audit': ['?action=key.pause', '?actor=grace'],
  '/people': ['?q=ana'],
  '/notices': ['?type=tenant.budget'],
};

interface PageCost {
  path: string;
  /** Beside the others. */
  ms: number[];
  /** CPU of the whole server, in milliseconds. */
  aloneCpuMs: number;
  htmlBytes: number;
  /** With what it refers to. */
  firstLoadBytes: number;
}

/** Those that are pages: the others lead on, or ask for what there is not. */
async function visit(browser: BrowserLike, pid: number, paths: readonly string[]): Promise<PageCost[]> {
  const costs: PageCost[] = [];
  const sent = new Map<string, number>();
  for (const path of paths) {
    const { status, html } = await browser.get(path);
    if (status >= 500) throw new Error(`${path} was answered ${status}`);
    if (status !== 200) continue;
    const before = cpuMsOf(pid);
    for (let done = 0; done < samplesAlone; done += 1) await browser.get(path);
    const aloneCpuMs = (cpuMsOf(pid) - before) / samplesAlone;
    const htmlBytes = Buffer.byteLength(html);
    let firstLoadBytes = htmlBytes;
    for (const [, asset = ''] of html.matchAll(/(?:href|src)="(\/assets\/[^"#]+)/g)) {
      if (!sent.has(asset)) sent.set(asset, await bytesOf(browser.url, asset));
      firstLoadBytes += sent.get(asset) ?? 0;
    }
    costs.push({ path, ms: [], aloneCpuMs, htmlBytes, firstLoadBytes });
  }
  assetBytes = [...sent.values()].reduce((sum, bytes) => sum + bytes, 0);
  return costs;
}

let assetBytes = 0;

/** As it is sent to a browser, compressed. */
async function bytesOf(url: string, asset: string): Promise<number> {
  const { headers } = await fetch(url + asset, {
    method: 'HEAD',
    headers: { 'accept-encoding': 'br, gzip' },
  });
  return Number(headers.get('content-length'));
}

/** Ten readers ask for all pages, each `samples` times, in turns. */
async function readBesideOthers(browser: BrowserLike, costs: readonly PageCost[]): Promise<void> {
  const waiting = Array.from({ length: samples }, (_, round) =>
    costs.map((cost, at) => ({ cost, place: (at * 7 + round * 13) % costs.length })),
  ).flatMap((round) => round.sort((a, b) => a.place - b.place));
  const read = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const began = performance.now();
      const { status } = await browser.get(next.cost.path);
      if (status !== 200) throw new Error(`${next.cost.path} was answered ${status}`);
      next.cost.ms.push(performance.now() - began);
      await sleep(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: readers }, read));
}

function p95({ ms }: PageCost): number {
  return ms.toSorted((a, b) => a - b)[Math.floor(ms.length * 0.95)] ?? Number.NaN;
}

async function measure(name: string, place: SeedPlace): Promise<void> {
  const began = performance.now();
  // The gateway is a process of its own, where no password is hashed at less than the full cost.
  const seeded = await atFullCost(() => seed(place, size));
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(`  ${name}: ${seeded.tenants.length} tenants, seeded in ${seconds} s`);
  const where = 'dataDir' in place ? { HELPER_DATA_DIR: place.dataDir } : { DATABASE_URL: place.databaseUrl };
  const env = { LOG_LEVEL: 'error', HELPER_SIGNING_SECRET: master, ...where };
  const gateway = await startGatewayProcess(env);
  try {
    const { tenants } = seeded;
    const chosen = [tenants[0], tenants[Math.floor(tenants.length / 2)]];
    const shown = chosen.flatMap((tenant) =>
      tenant ? [{ name: tenant.row.name, key: tenant.keys.at(-1)?.row.id }] : [],
    );
    const browser = await signedIn(gateway.connect_url, seeded.operator);
    const costs = await visit(browser, servingPid(gateway), await addressesOf(browser, shown, queries));
    await readBesideOthers(browser, costs);
    report(name, costs);
    // What a page costs that needs next to nothing: on a busy machine, most of every other's time too.
    const least = costs.toSorted((a, b) => p95(a) - p95(b))[0] as PageCost;
    console.log(`  the quickest page, p95: ${p95(least).toFixed(0)} ms (${least.path})`);
    console.log(`  not measured: ${unread(costs).join(' ')}`);
  } finally {
    await gateway.stop();
  }
}

/** Routes of which no page was measured: they lead on, or there is nothing that they could show. */
function unread(costs: readonly PageCost[]): string[] {
  const forms = pageRoutes.filter(({ method }) => method === 'GET').map(({ path }) => path);
  const isMeasured = (path: string) => {
    const form = new RegExp(`^${path.replace(/:\w+/g, '[^/?]+')}(\\?|$)`);
    return costs.some((cost) => form.test(cost.path));
  };
  return forms.filter((path) => !isMeasured(path));
}

function report(name: string, costs: readonly PageCost[]): void {
  const slowest = costs.toSorted((a, b) => p95(b) - p95(a));
  printTable(
    [`${name}: the slowest of ${costs.length}`, 'p95, ms', 'alone, ms of CPU', 'HTML, KB', 'first load, KB'],
    slowest
      .slice(0, slowestShown)
      .map((cost) => [
        cost.path,
        p95(cost).toFixed(0),
        cost.aloneCpuMs.toFixed(0),
        (cost.htmlBytes / kb).toFixed(1),
        (cost.firstLoadBytes / kb).toFixed(1),
      ]),
  );
  const heaviest = Math.max(...costs.map(({ firstLoadBytes }) => firstLoadBytes));
  goals.push(
    atMost(300, `${name}: slowest page beside ${readers} readers, p95`, p95(slowest[0] as PageCost), 'ms'),
    atMost(150, `${name}: heaviest first load`, heaviest / kb, 'KB'),
    atMost(60, `${name}: files of the pages, as sent`, assetBytes / kb, 'KB'),
  );
}

const goals: Goal[] = [];
const folder = await mkdtemp(join(tmpdir(), 'bench-pages-'));
await measure('SQLite', { dataDir: folder });
await rm(folder, { recursive: true });
if (
  await onPostgres('select 1').then(
    () => true,
    () => false,
  )
) {
  const database = await createPostgresDatabase();
  await measure('PostgreSQL', { databaseUrl: database.location });
  await database.drop();
}
printGoals(goals);
