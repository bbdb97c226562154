import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import type { ErrorCode, GatewayError } from '../../errors.js';
import { recipeOf } from '../../keys/model.js';
import type { Registry } from '../../plugins/registry.js';
import type { StartedItem } from '../store/transitions.js';

export interface Retry {
  /** Whether this attempt was one: what passes by itself is not counted. */
  counted: boolean;
  delayMs: number;
  /** It goes back to the outbox, which hands it to the queue again once its tenant and key are no longer held. */
  unqueued?: true;
}

/** Of a state of ours that passes, and of which the item is no cause. */
const passing: ErrorCode[] = [
  'busy',
  'tenant_busy',
  'shutting_down',
  'keys_unavailable',
  'storage_unavailable',
];
const passesInMs = 2_000;

/** Of a key or tenant that waits until it is resumed. */
const held: ErrorCode[] = ['key_paused', 'tenant_suspended'];

/** Attempts at an item that fails by a fault here, and the pause after the first; each further pause is four times as long. */
const mostAttempts = 3;
const firstPauseMs = 1_000;

/** Tries again only what failed by a fault of ours: anything else is an answer, or would time out again. */
export function retryOf({ code }: Pick<GatewayError, 'code'>, attempt: number): Retry | undefined {
  if (held.includes(code)) return { counted: false, delayMs: 0, unqueued: true };
  if (passing.includes(code)) return { counted: false, delayMs: passesInMs };
  if (code !== 'internal' || attempt >= mostAttempts) return undefined;
  return { counted: true, delayMs: firstPauseMs * 4 ** (attempt - 1) };
}

/** Starts after which an item is given up that never came to an end: each of them may have ended its process. */
const mostStarts = 20;
/** The start from which every second one is put off instead, by as long again each time. */
const doubtfulFrom = 5;
const putOffMs = 10_000;

export function isPoison(attempt: number): boolean {
  return attempt > mostStarts;
}

/**
 * How long to leave an item alone that was lost this often: what ends processes is not to end all of them in a row. It counts as an
 * attempt, for the next process to know; random, so that items that were lost together, of which one was the cause, come back apart.
 */
export function restOf(attempt: number, random = Math.random): number {
  const starts = attempt - doubtfulFrom;
  if (starts < 0 || starts % 2 === 1 || isPoison(attempt)) return 0;
  return Math.round(putOffMs * (starts / 2 + 1) * (0.5 + random()));
}

/** An item is given back as it was: other processes have its helper, or may have it. */
export const leftToOthers: Retry = { counted: false, delayMs: 0 };
/** Its job does not move, so that no other process seems to have its helper: the tenant's other items come first for a while. */
const putBehind: Retry = { counted: false, delayMs: 30_000 };

/** How long a job may stand still before that is believed. */
const standsStillMs = 5_000;
const lackingMsByDefault = 600_000;
/** Jobs that are remembered. */
const mostJobs = 10_000;

/** Leaves items whose helper is lacking here to others; after ten minutes without progress they fail. */
export function createLackingHelpers(
  registry: Pick<Registry, 'get'>,
  lackingMs = lackingMsByDefault,
  now = () => performance.now(),
) {
  /** By job: since when it was met here with so many items done. */
  const met = new LRUCache<string, { since: number; done: number }>({ max: mostJobs });

  return {
    /** How an item goes back; undefined where it is to be begun. */
    leave({ job, of: { service }, done }: Pick<StartedItem, 'job' | 'of' | 'done'>): Retry | undefined {
      // A recipe is the tenant's, and the same everywhere.
      if (registry.get(service) || recipeOf(service) !== undefined) {
        met.delete(job);
        return undefined;
      }
      const known = met.get(job);
      if (known?.done !== done) {
        met.set(job, { since: now(), done });
        return leftToOthers;
      }
      const lackedMs = now() - known.since;
      if (lackedMs >= lackingMs) return undefined;
      return lackedMs < standsStillMs ? leftToOthers : putBehind;
    },
  };
}
