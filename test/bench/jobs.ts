/**
 * Prints what a job of 10,000 pictures costs those who call beside it, and how its memory goes on: by the clock, so it wants a machine
 * with nothing else to do. `node dist/test/bench/jobs.js [FILE]`
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, createClient } from '../soak/client.js';
import { factsOf } from '../soak/process-facts.js';
import { percentile } from '../soak/scenario.js';
import { atMost, printGoals, printTable } from './measure.js';
import { pictures } from './pictures.js';
import { fresh, startGateway, upload } from './servers.js';

const items = 10_000;
const calls = 150;

const small = (await pictures(process.argv[2])).sizes.at(-1);
if (!small) throw new Error('there is no picture');
const source = createServer((_, reply) => reply.setHeader('content-type', 'image/jpeg').end(small.bytes));
await once(source.listen(0, '127.0.0.1'), 'listening');
const origin = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;

// Nothing is to be used again: each item does its work.
const gateway = await startGateway({ HELPER_SOURCE_ORIGINS: origin, HELPER_CACHE_BYTES: '0' });
const client = createClient(gateway.url, 1);
const key = `ak=${gateway.key}`;
const direct = upload(`/media/add-border?${key}`, small.bytes, { format: 'jpg' });
const item = (at: number) => ({ url: `${origin}/${at}.jpg`, format: 'jpg', width: at % 50 });

async function timesOf(call: () => Call): Promise<number[]> {
  const taken: number[] = [];
  for (let done = 0; done < calls; done += 1) {
    const { status, ms } = await client.call(call());
    if (status !== 200) throw new Error(`a call was answered ${status}`);
    taken.push(ms);
  }
  return taken;
}

async function ask(path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' };
  const request = body && { method: 'POST', headers, body: JSON.stringify(body) };
  const answer = await fetch(`${gateway.url}${path}${path.includes('?') ? '&' : '?'}${key}`, request);
  return ((await answer.json()) as { data: Record<string, unknown> }).data;
}

const endedOf = ({ done = 0, failed = 0 }: Record<string, unknown>) => Number(done) + Number(failed);
const rssMb = () => factsOf(gateway.pid)?.rssMb ?? Number.NaN;

await timesOf(() => fresh(direct));
const alone = await timesOf(() => fresh(direct));
const byUrl = await timesOf(() => ({
  path: `/media/add-border?${key}&format=jpg&url=${encodeURIComponent(`${origin}/x.jpg`)}`,
}));
const before = rssMb();

const inputs = Array.from({ length: items }, (_, at) => item(at));
const began = performance.now();
const { id } = await ask('/jobs', { service: 'media/add-border', inputs });
const memory: number[] = [];
let beside: number[] = [];
let job = await ask(`/jobs/${id}?limit=1`);
while (job.finished_at === null) {
  const ended = endedOf(job);
  if (ended > items / 10 && beside.length === 0) beside = await timesOf(() => fresh(direct));
  if (ended > items / 5) memory.push(rssMb());
  await sleep(500);
  job = await ask(`/jobs/${id}?limit=1`);
}
const seconds = (performance.now() - began) / 1000;
const half = Math.ceil(memory.length / 2);
const first = Math.max(...memory.slice(0, half));
const second = Math.max(...memory.slice(half));

const row = (what: string, times: readonly number[]) => [
  what,
  ...[0.5, 0.95].map((part) => percentile(times, part).toFixed(1)),
];
printTable(
  [`a border around ${small.name}, ms`, 'median', '95th'],
  [row('alone', alone), row('alone, by its url, as an item', byUrl), row('beside the job', beside)],
);
console.log('');
printTable(
  [`a job of ${items} pictures`, ''],
  [
    ['done, failed', `${job.done}, ${job.failed}`],
    ['items a second, calls beside them', (items / seconds).toFixed(0)],
    ['memory before, MB', before.toFixed(0)],
    ['its most from a fifth to the middle, and to the end, MB', `${first.toFixed(0)}, ${second.toFixed(0)}`],
  ],
);
const late = percentile(beside, 0.95) / (2 * percentile(alone, 0.95) + percentile(byUrl, 0.95));
printGoals([
  atMost(1, 'a call’s 95th percentile, beside twice alone and one task', late, '×'),
  atMost(1.05, 'memory towards the end, beside before', second / first, '×'),
]);
client.close();
await gateway.close();
source.close();
