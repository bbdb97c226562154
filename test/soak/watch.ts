import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { World } from './world.js';

/** The gateway whose `/healthz` is asked, and the address of a server that does nothing else, asked at the same moments. */
export type WatchOrder = { pid: number; url: string; control: string; everyMs: number };

/**
 * How long `/healthz` took, and how much of it the machine took rather than the gateway: how long a server with nothing to do took at the
 * same moment, and for how long the gateway's main thread waited for a processor.
 */
export type HealthSample = { ms: number; controlMs: number; waitedMs: number };

/** Asks for the samples since the last such message. */
export type WatchMessage = 'lap' | 'stop';

/**
 * Asks a world's gateway for `/healthz` again and again from a thread of its own, which the attacker's work does not hold up. Each `lap`
 * gives what was seen since the last one: a thread for each of many short watches would cost more than they do.
 */
export async function watchHealth({ url, pid, source }: World, everyMs: number) {
  const order: WatchOrder = { url, pid, control: `${source}/ping`, everyMs };
  const worker = new Worker(new URL('./watch-worker.js', import.meta.url), { workerData: order });
  await once(worker, 'message');
  // Where the attack fails, it is not stopped.
  worker.unref();

  async function ask(message: WatchMessage) {
    worker.postMessage(message);
    const [samples] = (await once(worker, 'message')) as [HealthSample[]];
    return {
      samples: samples.length,
      maxMs: Math.max(0, ...samples.map(({ ms }) => ms)),
      /** The longest wait that was the gateway's own doing. */
      maxExcessMs: Math.max(0, ...samples.map(excess)),
    };
  }
  return {
    lap: () => ask('lap'),
    async stop() {
      const seen = await ask('stop');
      await worker.terminate();
      return seen;
    },
  };
}

function excess({ ms, controlMs, waitedMs }: HealthSample): number {
  return ms - waitedMs - (Number.isFinite(controlMs) ? controlMs : 0);
}
