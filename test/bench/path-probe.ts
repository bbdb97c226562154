/**
 * Loaded into every thread of a gateway by `--import`: between two SIGUSR2 it has V8 note which functions run. After each signal every
 * thread writes a file into the folder of `PATH_PROBE`, after the second one with what ran.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

const session = new Session();
session.connect();
const orders = new BroadcastChannel('path-probe');
orders.onmessage = (message) => void toggle((message as { data: number }).data);
orders.unref();

let signals = 0;
if (isMainThread) {
  process.on('SIGUSR2', () => {
    signals += 1;
    orders.postMessage(signals);
    void toggle(signals);
  });
}

async function toggle(signal: number): Promise<void> {
  const ran = signal % 2 === 1 ? await start() : await stop();
  const file = join(process.env.PATH_PROBE ?? '.', `${signal}-${threadId}.json`);
  // Whole, as soon as its name is there.
  writeFileSync(`${file}.part`, JSON.stringify(ran));
  renameSync(`${file}.part`, file);
}

async function start(): Promise<[]> {
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: false });
  return [];
}

async function stop(): Promise<object[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  return result.filter(({ url }) => url.includes('/dist/bundle/'));
}
