import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Pool } from '../../pool/pool.js';
import { loadColorNames } from '../../schemas/vocabulary/color/names.js';
import type { Registry } from '../helpers/registry.js';
import { loadUndici } from '../source/connection.js';
import type { RunOptions } from './run-here.js';
import { warmUp } from './warm-up.js';

export interface FirstCallsOptions {
  registry: Registry;
  pool: Pick<Pool, 'stats' | 'warm'>;
  inline: RunOptions;
  logger: Pick<Logger, 'error'>;
}

/** A call that comes with the start goes first, but calls without end keep the other threads waiting for this time at most. */
const longestWaitMs = 1_000;
const waitMs = 20;

/**
 * Loads what a start has no use for and one of the first calls has, and has the pool start the threads that the start did not wait
 * for: begun when the gateway is ready, so that neither waits for it. What few gateways ever use is loaded with its first use
 * instead: the protocol of agents, signing in to the site. To close it is to load no more.
 */
export function loadForFirstCalls(options: FirstCallsOptions): { close(): void } {
  let isClosed = false;
  void load(options, () => isClosed);
  return {
    close() {
      isClosed = true;
    },
  };
}

async function load(
  { registry, pool, inline, logger }: FirstCallsOptions,
  isClosed: () => boolean,
): Promise<void> {
  const helpers = [...registry.values()];
  const steps = [
    ...helpers.map((helper) => () => helper.parameters.prepare()),
    ...helpers.filter(({ shipped }) => shipped).map((helper) => () => warmUp([helper], inline)),
    loadUndici,
    loadColorNames,
    () => pool.warm(),
  ];
  try {
    const latest = Date.now() + longestWaitMs;
    for (const step of steps) {
      // What is printed of the start comes first, and a call that has come meanwhile waits for one step at most.
      await setImmediate();
      while (pool.stats().places > 0 && Date.now() < latest) await setTimeout(waitMs);
      if (isClosed()) return;
      await step();
    }
  } catch (error) {
    if (!isClosed()) logger.error({ err: error }, 'what the first calls need could not be loaded');
  }
}
