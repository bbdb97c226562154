import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixture } from '../../fixtures.js';
import { open } from '../../gateway/raw-client.js';
import { createClient } from '../client.js';
import { multipart } from '../mutate.js';
import { factsOf } from '../process-facts.js';
import { inTurn, percentile, type Scenario, type Tally } from '../scenario.js';
import { startWorld, type World } from '../world.js';

const plugins = fixture('plugins/soak');

interface JobData {
  id: string;
  state: string;
  done: number;
  failed: number;
  finished_at: string | null;
  items: { state: string; error?: { code: string } }[];
}

/** A request of the jobs' API: its status, and its data where it has any. A body is sent by POST. */
async function ask(url: string, body?: ReturnType<typeof job>, method = body ? 'POST' : 'GET') {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const { data } = (await answer.json()) as { data?: JobData };
  return { status: answer.status, data };
}

/** The data of a request that has to be accepted. */
async function dataOf(url: string, body?: ReturnType<typeof job>): Promise<JobData> {
  const { status, data } = await ask(url, body);
  if (!data) throw new Error(`the jobs API answered ${status}`);
  return data;
}

/** A job once it has ended, or as it is after so long. */
async function ended(path: string, mostMs: number, everyMs = 200): Promise<JobData> {
  const began = performance.now();
  for (;;) {
    const data = await dataOf(path);
    if (data.finished_at !== null || performance.now() - began > mostMs) return data;
    await sleep(everyMs);
  }
}

/** Milliseconds from a request for a job of one item to its end. */
async function oneItem(world: World, key: string): Promise<number> {
  const began = performance.now();
  const data = await dataOf(`${world.url}/jobs?ak=${key}`, texts(1));
  const { finished_at } = await ended(`${world.url}/jobs/${data.id}?ak=${key}`, 60_000, 5);
  if (finished_at === null) throw new Error('a job of one item took more than a minute');
  return performance.now() - began;
}

function job(service: string, items: number, input: (at: number) => object) {
  return { service, inputs: Array.from({ length: items }, (_, at) => input(at)) };
}
const texts = (items: number) =>
  job('text/remove-stopwords', items, (at) => ({ text: `the job and its item ${at}` }));
const large = (bytes: number, items = 1) => job('large/bytes', items, (n) => ({ bytes, n }));

const itemMb = 60;
/** HELPER_OUTPUT_BYTES and one answer a thread. */
const mostRiseMb = 256 + 2 * itemMb;

/** A large result that many ask for and none reads. */
export const unreadItems: Scenario = {
  name: 'jobs: 80 who read none of a 60 MB item',
  env: { HELPER_PLUGINS: plugins },
  bounds: { healthMs: 200 },
  async attack(world, { scale, tally }) {
    const data = await dataOf(`${world.url}/jobs?ak=${world.key}`, large(itemMb * 2 ** 20));
    const { done } = await ended(`${world.url}/jobs/${data.id}?ak=${world.key}`, 60_000);
    if (done !== 1) return tally.fault('the item was not done');
    const path = `/jobs/${data.id}/items/0?ak=${world.key}`;
    world.collect();
    await sleep(1_000);
    const before = factsOf(world.pid)?.rssMb ?? 0;
    let most = 0;
    const look = () => {
      most = Math.max(most, factsOf(world.pid)?.rssMb ?? 0);
    };
    const sockets: Socket[] = [];
    for (let at = 0; at < scale.calls && world.alive(); at += 1) {
      const socket = open(world.url).on('error', () => undefined);
      socket.pause().write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
      sockets.push(socket);
      await sleep(10);
      look();
    }
    for (let head = 0; head < 30; head += 1) {
      const { status } = await fetch(`${world.url}${path}`, { method: 'HEAD' });
      tally.count(status);
      look();
    }
    for (const end = performance.now() + scale.seconds * 1_000; performance.now() < end; await sleep(50))
      look();
    for (const socket of sockets) {
      tally.count(0);
      socket.destroy();
    }
    const rise = most - before;
    if (rise > mostRiseMb) tally.fault(`memory rose by ${rise.toFixed(0)} MB beside what was not read`);
  },
};

const diskMb = 80;

/** A job with more results than the disk has room for ends, and the room is back when it is deleted; no other tenant's job is refused. */
export const fullDisk: Scenario = {
  name: 'jobs: 200 MB of results on a disk of 80 MB',
  async attack(_, { scale, tally }) {
    const dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'tmpfs', dataDir], { stdio: 'ignore' });
    } catch {
      console.log('skipped: needs the right to mount a tmpfs');
      return rm(dataDir, { recursive: true });
    }
    const world = await startWorld({ HELPER_DATA_DIR: dataDir, HELPER_PLUGINS: plugins, LOG_LEVEL: 'fatal' });
    try {
      await fill(world, scale.calls, tally);
    } finally {
      await world.close();
      execFileSync('umount', ['-l', dataDir]);
      await rm(dataDir, { recursive: true });
    }
  },
};

async function fill({ url, key, quietKey }: World, items: number, tally: Tally): Promise<void> {
  const jobs = `${url}/jobs`;
  const began = performance.now();
  const data = await dataOf(`${jobs}?ak=${key}`, large(1_000_000, items));
  let isOver = false;
  async function others(): Promise<void> {
    for (let n = 0; !isOver; n += 1) {
      const { status } = await ask(`${jobs}?ak=${quietKey}`, large(10 + n));
      tally.count(status);
      if (status !== 202) tally.fault(`another tenant’s job was answered ${status}`);
      await sleep(500);
    }
  }
  const beside = others();
  const all = await ended(`${jobs}/${data.id}?limit=1000&ak=${key}`, 120_000);
  isOver = true;
  await beside;
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  if (all.finished_at === null) return tally.fault(`the job has not ended after ${seconds} s`);
  const codes = new Set(all.items.flatMap(({ error }) => error?.code ?? []));
  if (all.failed === 0 || [...codes].join() !== 'storage_unavailable')
    tally.fault(`${all.done} items are done, ${all.failed} failed with ${[...codes].join() || 'nothing'}`);
  for (const expected of [200, 404]) {
    const { status } = await ask(`${jobs}/${data.id}?ak=${key}`, undefined, 'DELETE');
    if (status !== expected) tally.fault(`DELETE was answered ${status}, and not ${expected}`);
  }
  const again = await dataOf(`${jobs}?ak=${key}`, large(1_000_000, 30));
  const { done } = await ended(`${jobs}/${again.id}?ak=${key}`, 60_000);
  if (done !== 30) tally.fault(`${done} items of 30 were done once there was room`);
}

async function median(times: number, work: () => Promise<number>): Promise<number> {
  const each: number[] = [];
  for (let time = 0; time < times; time += 1) each.push(await work());
  return percentile(each, 0.5);
}

/** Times that its own time alone may be multiplied by, of a job of one item behind another tenant's 120,000. */
const mostTimes = 3;

/** One tenant's many items do not go before another's one. */
const manyItems: Scenario = {
  name: 'jobs: one item beside 120,000',
  async attack(world, { scale, tally }) {
    const one = () => oneItem(world, world.quietKey);
    await median(3, one);
    const alone = await median(11, one);
    const client = createClient(world.url, 1);
    const path = `/jobs?ak=${world.key}`;
    const tenThousand = JSON.stringify(texts(10_000));
    for (let job = 0; job < scale.calls; job += 1) {
      tally.count((await client.call({ path, body: tenThousand })).status);
    }
    client.close();
    const beside = await median(11, one);
    if (!(beside <= mostTimes * alone)) {
      tally.fault(`a job of one item took ${beside.toFixed(0)} ms, and alone ${alone.toFixed(0)}`);
    }
  },
};

/** Of the calls that eight clients make alone, the part that they make at least beside a job of another tenant. */
const leastOfCalls = 0.75;
const callSeconds = 5;
const shortItems = 20;
const mostSecondsAnItem = 1;

/** Eight clients that keep every thread busy do not hold up another tenant's job, nor does that slow them down by more than its share. */
const busyClients: Scenario = {
  name: 'jobs: 20 items beside eight clients',
  async attack(world, { tally }) {
    const client = createClient(world.url, 8);
    const form = multipart([
      { name: 'width', value: '300' },
      { name: 'format', value: 'webp' },
      { name: 'file', filename: 'a.jpg', value: world.picture },
    ]);
    let made = 0;
    let calls = 0;
    let isOver = false;
    const clients = Array.from({ length: 8 }, async () => {
      while (!isOver && world.alive()) {
        // None like another, for its result would be there already.
        made += 1;
        const color = (made % 0xffffff).toString(16).padStart(6, '0');
        const path = `/media/add-border?ak=${world.key}&color=${color}`;
        const { status } = await client.call({ ...form, path });
        tally.count(status);
        if (status === 200) calls += 1;
      }
    });
    /** Calls a second for as long as this takes. */
    async function rateDuring(work: () => Promise<unknown>): Promise<number> {
      const [before, began] = [calls, performance.now()];
      await work();
      return (calls - before) / ((performance.now() - began) / 1_000);
    }
    try {
      await sleep(1_000);
      const alone = await rateDuring(() => sleep(callSeconds * 1_000));
      const began = performance.now();
      const input = (at: number) => ({ url: `${world.source}/picture?${at}`, format: 'jpg' });
      const body = job('media/add-border', shortItems, input);
      const data = await dataOf(`${world.url}/jobs?ak=${world.quietKey}`, body);
      const path = `${world.url}/jobs/${data.id}?limit=1&ak=${world.quietKey}`;
      const beside = await rateDuring(() => ended(path, 2 * shortItems * mostSecondsAnItem * 1_000, 100));
      const { done, failed } = await dataOf(path);
      const seconds = (performance.now() - began) / 1_000;
      if (done !== shortItems || seconds > shortItems * mostSecondsAnItem) {
        tally.fault(`${done} items of ${shortItems} were done in ${seconds.toFixed(1)} s, ${failed} failed`);
      }
      if (!(beside >= leastOfCalls * alone)) {
        tally.fault(`calls were ${beside.toFixed(0)} a second beside a job, and ${alone.toFixed(0)} without`);
      }
    } finally {
      isOver = true;
      await Promise.all(clients);
      client.close();
    }
  },
};

/** What one tenant's jobs may not do to the others, nor its calls to their jobs. */
export const jobs: Scenario = inTurn('jobs', [busyClients, manyItems]);
