/**
 * Prints what a call costs beside growth: one tenant with one key, and 10,000 tenants with 100,000 keys chosen at random, in turns
 * within one run, measured against a whole small call; and how long the event loop is held at most by what is written and read meanwhile.
 * `node dist/test/bench/growth.js`; on PostgreSQL too, where TEST_DATABASE_URL is set.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { createPostgresDatabase, createSqliteDatabase, type TestDatabase } from '../gateway/databases.js';
import { cpuMsOf, mainThreadMs, ownCpuMs } from './cpu.js';
import { createWorld } from './growth-world.js';
import { hammer } from './keep-alive.js';
import { median } from './rounds.js';
import { startGateway } from './servers.js';
import { type Judged, printGoals, printTable, ratio } from './table.js';

const rounds = 9;
/** What comes in two seconds at 5,000 a second, between two writes of the counts. */
const callsARound = 10_000;
const smallCalls = 5_000;
interface Cost {
  /** CPU of the main thread, in microseconds. */
  main: number;
  /** CPU of all threads. */
  all: number;
}

/** What a gateway of one tenant spends on a small call in all: what grows is judged against it. */
async function measureSmallCall(): Promise<Cost> {
  const gateway = await startGateway();
  const query = new URLSearchParams({ a: 'one\ntwo\nthree\n', b: 'one\n2\nthree\n', ak: gateway.key });
  const request = Buffer.from(`GET /text/diff-two-strings?${query} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  const ask = () => hammer(gateway.url, request, { connections: 32, calls: smallCalls });
  await ask();
  const costs: Cost[] = [];
  for (let round = 0; round < 5; round += 1) {
    const [before, mainBefore] = [cpuMsOf(gateway.pid), mainThreadMs(gateway.pid)];
    await ask();
    const [all, main] = [cpuMsOf(gateway.pid) - before, mainThreadMs(gateway.pid) - mainBefore];
    costs.push({ main: (main * 1000) / smallCalls, all: (all * 1000) / smallCalls });
  }
  await gateway.close();
  return { main: median(costs.map(({ main }) => main)), all: median(costs.map(({ all }) => all)) };
}

async function costOf(work: () => Promise<void>): Promise<Cost> {
  const [before, mainBefore] = [ownCpuMs(), mainThreadMs()];
  await work();
  return { main: (mainThreadMs() - mainBefore) * 1000, all: (ownCpuMs() - before) * 1000 };
}

/** The longest time for which the event loop has no turn during `work`, in milliseconds. */
async function heldBy(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let done = false;
  const watch = (async () => {
    for (let last = mainThreadMs(); !done; last = mainThreadMs()) {
      await turn();
      longest = Math.max(longest, mainThreadMs() - last);
    }
  })();
  await work();
  done = true;
  await watch;
  return longest;
}

async function compare(name: string, create: () => Promise<TestDatabase>): Promise<void> {
  const files = [await create(), await create()] as const;
  const worlds = [await createWorld(files[0], 1, 1), await createWorld(files[1], 10_000, 100_000)] as const;
  const costs: { calls: Cost; writing: Cost }[][] = [[], []];
  const held: number[] = [];
  for (const world of worlds) await world.warmUp();
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, world] of worlds.entries()) {
      const calls = () => callMany(world.call);
      costs[at]?.push({ calls: await costOf(calls), writing: await costOf(world.write) });
      await calls();
      if (at === 1) held.push(await heldBy(world.write));
    }
  }
  const perCall = (at: number, part: 'calls' | 'writing', threads: keyof Cost) =>
    median((costs[at] ?? []).map((cost) => cost[part][threads] / callsARound));
  const rows: string[][] = [];
  const goals: Judged[] = [];
  for (const threads of ['main', 'all'] as const) {
    const [one, many] = [0, 1].map((at) => perCall(at, 'calls', threads)) as [number, number];
    const [oneWritten, manyWritten] = [0, 1].map((at) => perCall(at, 'writing', threads)) as [number, number];
    const from = one + oneWritten;
    const to = many + manyWritten;
    const of = `${threads} ${threads === 'main' ? 'thread' : 'threads'}`;
    rows.push([`${of}: key, limits, usage`, one.toFixed(1), many.toFixed(1), '']);
    rows.push([`${of}: writing`, oneWritten.toFixed(1), manyWritten.toFixed(1), '']);
    const grown = small[threads] + to - from;
    rows.push([
      `${of}: a small call`,
      small[threads].toFixed(1),
      grown.toFixed(1),
      ratio(grown, small[threads]),
    ]);
    if (threads === 'all') continue;
    const figure = grown / small.main;
    goals.push({ what: `${name}: CPU of a small call`, figure, unit: '×', goal: { atMost: 1.2 } });
  }
  goals.push({
    what: `${name}: event loop held while that is written, most`,
    figure: Math.max(...held),
    unit: 'ms',
    goal: { atMost: 10 },
  });
  printTable([`${name}, µs of CPU a call`, '1 key', '100,000 keys', ''], rows);
  console.log(
    `  while that was written the event loop was held for ${median(held).toFixed(1)} ms in the median\n`,
  );
  printGoals(goals);
  for (const world of worlds) await world.close();
  for (const one of files) await one.drop();
}

async function callMany(call: () => Promise<void>): Promise<void> {
  for (let done = 0; done < callsARound; done += 1) {
    await call();
    if (done % 100 === 0) await turn();
  }
}

const small = await measureSmallCall();
console.log(
  `a small call (GET of a diff of three lines) costs a gateway ${small.main.toFixed(0)} µs of its main thread, ${small.all.toFixed(0)} of all`,
);
await compare('SQLite', () => createSqliteDatabase({ ownThread: true }));
if (process.env.TEST_DATABASE_URL) await compare('PostgreSQL', createPostgresDatabase);
