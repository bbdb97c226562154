/**
 * Loaded into every thread of a gateway by `--import`: between two SIGUSR2 it has V8 note which functions run, and then writes that to
 * a file of each thread in the folder of `PATH_PROBE`.
 */
import { writeFileSync } from 'node:fs';
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
  if (signal % 2 === 1) {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: false });
    return;
  }
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  const own = result.filter(({ url }) => url.includes('/dist/bundle/'));
  writeFileSync(join(process.env.PATH_PROBE ?? '.', `${signal / 2}-${threadId}.json`), JSON.stringify(own));
}
