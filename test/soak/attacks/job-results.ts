import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixture } from '../../fixtures.js';
import { startGatewayProcess } from '../../gateway/harness.js';
import { open } from '../../gateway/raw-client.js';
import { factsOf } from '../process-facts.js';
import type { Scenario, Tally } from '../scenario.js';

const service = 'large/bytes';
const plugins = fixture('plugins/soak');
const megabyte = 2 ** 20;

interface JobData {
  id: string;
  state: string;
  done: number;
  failed: number;
  finished_at: string | null;
  items: { state: string; error?: { code: string } }[];
}

/** A request of the jobs' API: its status, and its data where it has any. */
async function ask(url: string, init: { method?: string; inputs?: object[] } = {}) {
  const { method = init.inputs ? 'POST' : 'GET', inputs } = init;
  const body = inputs && JSON.stringify({ service, inputs });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const { data } = (await answer.json()) as { data: JobData };
  return { status: answer.status, data };
}

/** A job once it has ended, or as it is after so long. */
async function ended(url: string, key: string, id: string, mostMs: number): Promise<JobData> {
  const began = performance.now();
  for (;;) {
    const { data } = await ask(`${url}/jobs/${id}?limit=1000&ak=${key}`);
    if (data.finished_at !== null || performance.now() - began > mostMs) return data;
    await sleep(200);
  }
}

const itemMb = 60;
/** HELPER_OUTPUT_BYTES and one answer a thread. */
const mostRiseMb = 256 + 2 * itemMb;

/** A large result that many ask for and nobody reads. */
export const unreadItems: Scenario = {
  name: 'jobs: 80 who read none of a 60 MB item',
  env: { HELPER_PLUGINS: plugins },
  bounds: { healthMs: 200 },
  async attack(world, { scale, tally }) {
    const jobs = `${world.url}/jobs`;
    const inputs = [{ bytes: itemMb * megabyte }];
    const { data } = await ask(`${jobs}?ak=${world.key}`, { inputs });
    const { done } = await ended(world.url, world.key, data.id, 60_000);
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
    if (rise > mostRiseMb) tally.fault(`memory rose by ${rise.toFixed(0)} MB beside what nobody read`);
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
    const operatorToken = 'Yq7Zk2Wm9Xc4Vb8Nj3Lh6Pd1Rf5Tg0Qs';
    const gateway = await startGatewayProcess({
      HELPER_DATA_DIR: dataDir,
      HELPER_POOL_THREADS: '2',
      HELPER_RATE: '0',
      HELPER_PLUGINS: plugins,
      HELPER_OPERATOR_TOKEN: operatorToken,
      LOG_LEVEL: 'fatal',
    });
    try {
      const command = async (path: string, body: object) => {
        const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' };
        const init = { method: 'POST', headers, body: JSON.stringify(body) };
        return (await (await fetch(`${gateway.connect_url}${path}`, init)).json()) as {
          data: { key: string };
        };
      };
      await command('/api/tenants', { name: 'other' });
      const other = (await command('/api/tenants/other/keys', {})).data.key;
      await fill(gateway.url, { key: gateway.first_key?.key ?? '', other, items: scale.calls, tally });
    } finally {
      await gateway.stop('SIGKILL');
      execFileSync('umount', ['-l', dataDir]);
      await rm(dataDir, { recursive: true });
    }
  },
};

async function fill(
  url: string,
  { key, other, items, tally }: { key: string; other: string; items: number; tally: Tally },
): Promise<void> {
  const jobs = `${url}/jobs`;
  const inputs = (count: number) => Array.from({ length: count }, (_, n) => ({ bytes: 1_000_000, n }));
  const began = performance.now();
  const { data } = await ask(`${jobs}?ak=${key}`, { inputs: inputs(items) });
  let isOver = false;
  async function others(): Promise<void> {
    for (let n = 0; !isOver; n += 1) {
      const { status } = await ask(`${jobs}?ak=${other}`, { inputs: [{ bytes: 10, n }] });
      tally.count(status);
      if (status !== 202) tally.fault(`another tenant’s job was answered ${status}`);
      await sleep(500);
    }
  }
  const beside = others();
  const job = await ended(url, key, data.id, 120_000);
  isOver = true;
  await beside;
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  if (job.finished_at === null) return tally.fault(`the job has not ended after ${seconds} s`);
  const codes = new Set(job.items.flatMap(({ error }) => error?.code ?? []));
  if (job.failed === 0 || [...codes].join() !== 'storage_unavailable')
    tally.fault(`${job.done} items are done, ${job.failed} failed with ${[...codes].join() || 'nothing'}`);
  for (const expected of [200, 404]) {
    const { status } = await ask(`${jobs}/${data.id}?ak=${key}`, { method: 'DELETE' });
    if (status !== expected) tally.fault(`DELETE was answered ${status}, and not ${expected}`);
  }
  const again = await ask(`${jobs}?ak=${key}`, { inputs: inputs(30) });
  const { done } = await ended(url, key, again.data.id, 60_000);
  if (done !== 30) tally.fault(`${done} items of 30 were done once there was room`);
}
