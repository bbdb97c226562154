import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { waitedMs } from './process-facts.js';
import type { HealthSample, WatchMessage, WatchOrder } from './watch.js';

const { url, pid, control, everyMs } = workerData as WatchOrder;
const samples: HealthSample[] = [];
let watching = true;
let wanted = false;
parentPort?.on('message', (message: WatchMessage) => {
  watching = message !== 'stop';
  wanted = true;
});

/** Milliseconds until the whole answer was there; infinite where there was none. */
function ask(address: string, agent: Agent): Promise<number> {
  const began = performance.now();
  return new Promise((resolve) => {
    const sent = get(address, { agent, timeout: 30_000 }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode === 200 ? performance.now() - began : Infinity));
    });
    sent.once('timeout', () => sent.destroy(new Error('timeout')));
    sent.once('error', () => resolve(Infinity));
  });
}

const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })] as const;
await Promise.all([ask(`${url}/healthz`, agents[0]), ask(control, agents[1])]);
parentPort?.postMessage('ready');
while (watching) {
  const began = performance.now();
  const waited = waitedMs(pid);
  const [ms, controlMs] = await Promise.all([ask(`${url}/healthz`, agents[0]), ask(control, agents[1])]);
  samples.push({ ms, controlMs, waitedMs: waitedMs(pid) - waited });
  if (watching && wanted) {
    wanted = false;
    parentPort?.postMessage(samples.splice(0));
  }
  await sleep(Math.max(1, everyMs - (performance.now() - began)));
}
parentPort?.postMessage(samples);
for (const agent of agents) agent.destroy();
