import type { Logger } from 'pino';
import { createMemoryRate, type RateState, type SharedCounts } from '../limits/counters.js';
import type { CountAnswer, CountRequest, FromProcess } from './messages.js';

/** The counts of all processes of a host, as Redis would keep them: rates by window; quotas by account and month, raised to what a process read in the database. */
export function createCounts() {
  const rate = createMemoryRate();
  /** By month, then by name. */
  const quotas = new Map<string, Map<string, number>>();

  function monthOf(name: string): Map<string, number> {
    const month = name.slice(-'YYYY-MM'.length);
    const known = quotas.get(month);
    if (known) return known;
    const made = new Map<string, number>();
    quotas.set(month, made);
    // As a month begins, calls of the last one are still answered; older ones are no longer needed.
    const [oldest] = [...quotas.keys()].sort();
    if (quotas.size > 2 && oldest !== undefined && oldest !== month) quotas.delete(oldest);
    return made;
  }

  function answerOne(request: CountRequest): CountAnswer | Promise<CountAnswer> {
    if (request.kind === 'rate') return rate.consume(request.tenant, request.rate, request.burst);
    const { name, floor } = request;
    const month = monthOf(name);
    const used = Math.max(month.get(name) ?? 0, floor);
    if (request.kind === 'release') {
      month.set(name, used > floor ? used - 1 : used);
      return null;
    }
    const granted = used < request.limit;
    const total = granted ? used + request.amount : used;
    month.set(name, total);
    return { granted, used: total };
  }

  return { answer: (requests: readonly CountRequest[]) => Promise.all(requests.map(answerOne)) };
}

/** The supervisor does nothing but this: where it is late the whole host is, and an exact count is worth a wait. */
const timeoutMs = 2_000;
/** So long a supervisor that did not answer is not asked again, or each call would wait for the time-out of a stopped one. */
const restMs = 500;

interface Pending {
  request: CountRequest;
  resolve: (answer: CountAnswer | undefined) => void;
}

/** The supervisor's counts, as a process uses them: those of one iteration of the event loop in a message. */
export function createCountsClient(
  send: (message: FromProcess) => void,
  outageShare: number,
  logger: Pick<Logger, 'info' | 'warn'>,
) {
  const batches = new Map<number, { pending: Pending[]; timer: NodeJS.Timeout }>();
  let pending: Pending[] = [];
  let lastId = 0;
  let restsUntil = Number.NEGATIVE_INFINITY;
  let isDown = false;

  async function ask<T extends CountAnswer>(request: CountRequest): Promise<T> {
    const answer = await new Promise<CountAnswer | undefined>((resolve) => {
      if (pending.push({ request, resolve }) === 1) setImmediate(flush);
    });
    if (answer === undefined) throw new Error('the supervisor did not answer');
    return answer as T;
  }

  function flush(): void {
    const batch = pending;
    pending = [];
    lastId += 1;
    const id = lastId;
    // An answer that came while this process was busy is read before an immediate runs.
    const timer = setTimeout(() => setImmediate(giveUp, id), timeoutMs);
    batches.set(id, { pending: batch, timer });
    send({ kind: 'count', id, requests: batch.map(({ request }) => request) });
  }

  function giveUp(id: number): void {
    if (!batches.has(id)) return;
    restsUntil = performance.now() + restMs;
    if (!isDown)
      logger.warn({}, 'the supervisor does not answer: this process limits by itself, at a reduced share');
    isDown = true;
    settleBatch(id, []);
  }

  function settleBatch(id: number, answers: readonly CountAnswer[]): void {
    const batch = batches.get(id);
    if (!batch) return;
    batches.delete(id);
    clearTimeout(batch.timer);
    for (const [at, { resolve }] of batch.pending.entries()) resolve(answers[at]);
  }

  const shared: SharedCounts = {
    async run(operation) {
      if (performance.now() < restsUntil) return undefined;
      return operation().catch(() => undefined);
    },
    rate: { consume: (tenant, rate, burst) => ask<RateState>({ kind: 'rate', tenant, rate, burst }) },
    quota: {
      reserve: (name, limit, floor, amount) => ask({ kind: 'reserve', name, limit, floor, amount }),
      release: (name, floor) => ask<null>({ kind: 'release', name, floor }).then(() => undefined),
    },
    outageShare,
    close: () => undefined,
  };

  return {
    shared,
    receive(id: number, answers: readonly CountAnswer[]): void {
      if (isDown) logger.info({}, 'the supervisor answers: limits are shared again');
      isDown = false;
      settleBatch(id, answers);
    },
  };
}
