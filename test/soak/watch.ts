import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { World } from './world.js';

export interface WatchOrder {
  /** Of the gateway. */
  pid: number;
  /** Of the gateway, whose `/healthz` is asked. */
  url: string;
  /** The address of a server that does nothing else, asked at the same moments. */
  control: string;
  everyMs: number;
}

/** How long `/healthz` took, and how much of it the machine took rather than the gateway. */
export interface HealthSample {
  ms: number;
  /** A server with nothing to do, asked at the same moment. */
  controlMs: number;
  /** For which the gateway's main thread could have gone on, had it had a processor. */
  waitedMs: number;
}

/** Asks for the samples since the last such message. */
export type WatchMessage = 'lap' | 'stop';

/** What was seen of `/healthz`. */
export interface HealthSeen {
  samples: number;
  maxMs: number;
  /** The longest wait that was the gateway's own doing. */
  maxExcessMs: number;
}

/** Tells what was seen since it was asked last; a thread for each of many short watches would cost more than they do. */
export interface HealthWatch {
  lap(): Promise<HealthSeen>;
  stop(): Promise<HealthSeen>;
}

/** Asks a world's gateway for `/healthz` again and again from a thread of its own, which the attacker's work does not hold up. */
export async function watchHealth(
  { url, pid, source }: Pick<World, 'url' | 'pid' | 'source'>,
  everyMs: number,
): Promise<HealthWatch> {
  const order: WatchOrder = { url, pid, control: `${source}/ping`, everyMs };
  const worker = new Worker(new URL('./watch-worker.js', import.meta.url), { workerData: order });
  await once(worker, 'message');
  // Where the attack fails, nobody stops it.
  worker.unref();

  async function ask(message: WatchMessage): Promise<HealthSeen> {
    worker.postMessage(message);
    const [samples] = (await once(worker, 'message')) as [HealthSample[]];
    return {
      samples: samples.length,
      maxMs: Math.max(0, ...samples.map(({ ms }) => ms)),
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
