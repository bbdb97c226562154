import type { Logger } from 'pino';
import type { RateState } from '../limits/rate-gate.js';
import type { SharedCounts } from '../limits/shared-counts.js';
import type { Ask, Told, ToPrimary } from './messages.js';

/** The counts of the primary, as a process asks for them. */
export interface PrimaryCounts {
  /** Takes an answer. */
  take(id: number, told: readonly Told[]): void;
  /** For the limiter; `outageShare` holds while the primary does not answer. */
  shared(outageShare: number, logger: Pick<Logger, 'info' | 'warn'>): SharedCounts;
}

/** The primary does nothing but this: where it is late, the whole host is, and an exact count is worth a wait. */
const patienceMs = 2_000;
/** So long nobody asks a primary again that did not answer: a stopped one must cost no call its patience. */
const restMs = 500;

interface Asked {
  resolve: (told: Told | undefined) => void;
  ask: Ask;
}

/** Asks in one message what the calls of one turn of the event loop ask. */
export function createPrimaryCounts(send: (message: ToPrimary) => void): PrimaryCounts {
  const batches = new Map<number, { asked: Asked[]; timer: NodeJS.Timeout }>();
  let gathered: Asked[] = [];
  let lastId = 0;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let isDown = false;
  let tell: Pick<Logger, 'info' | 'warn'> | undefined;

  function ask<T extends Told>(what: Ask): Promise<T> {
    return new Promise((resolve, reject) => {
      if (gathered.push({ ask: what, resolve: settle }) === 1) setImmediate(flush);
      function settle(told: Told | undefined): void {
        if (told === undefined) reject(new Error('the primary did not answer'));
        else resolve(told as T);
      }
    });
  }

  function flush(): void {
    const asked = gathered;
    gathered = [];
    lastId += 1;
    const id = lastId;
    // The answer may have come while this process was busy: it is read before what is set immediately runs.
    const timer = setTimeout(() => setImmediate(giveUp, id), patienceMs);
    batches.set(id, { asked, timer });
    send({ kind: 'ask', id, asks: asked.map((each) => each.ask) });
  }

  function giveUp(id: number): void {
    if (!batches.has(id)) return;
    restsUntil = performance.now() + restMs;
    if (!isDown)
      tell?.warn({}, 'the supervisor does not answer: this process limits by itself, at a reduced share');
    isDown = true;
    answer(id, []);
  }

  function answer(id: number, told: readonly Told[]): void {
    const batch = batches.get(id);
    if (!batch) return;
    batches.delete(id);
    clearTimeout(batch.timer);
    for (const [at, { resolve }] of batch.asked.entries()) resolve(told[at]);
  }

  return {
    take(id, told) {
      if (isDown) tell?.info({}, 'the supervisor answers: limits are shared again');
      isDown = false;
      answer(id, told);
    },
    shared(outageShare, logger) {
      tell = logger;
      return createShared(outageShare);
    },
  };

  function createShared(outageShare: number): SharedCounts {
    return {
      async run(operation) {
        if (performance.now() < restsUntil) return undefined;
        return operation().catch(() => undefined);
      },
      rate: {
        take: (tenant, rate, burst) => ask<RateState>({ kind: 'rate', tenant, rate, burst }),
      },
      quota: {
        reserve: (name, limit, floor) => ask({ kind: 'reserve', name, limit, floor }),
        release: (name, floor) => ask<null>({ kind: 'release', name, floor }).then(() => undefined),
      },
      outageShare,
      close: () => undefined,
    };
  }
}
