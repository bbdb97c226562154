import { GatewayError } from '../errors.js';
import {
  MinimumRate,
  type MinimumRateOptions,
  monotonic,
  PeerClock,
  sweepRoundRobin,
  TenantSums,
} from './budget.js';
import { Ending } from './ending.js';

/** A body or a download on its way. */
export interface InboundTransfer {
  /** Comes, with a `GatewayError`, when it is not waited for any longer. */
  readonly ending: Ending;
  /** Counts bytes that have come, 0 for the head of an answer; may abort this arrival or a slower one. */
  add(bytes: number): void;
  /** Says that it is here whole: its bytes count until `release`, but nothing ends it any more. */
  complete(): void;
  /** Forgets it and its bytes; twice is once. */
  release(): void;
}

/** What is told of an arrival that comes too slowly. */
export type InboundTimeout = 'request_timeout' | 'source_timeout';

export interface InboundBudgetOptions {
  /** Arrivals on their way at a time; a tenant may have half of them. */
  most: number;
  /** Bytes held for calls, on their way and arrived; a tenant may hold half, or one input of the largest size. */
  bytes: number;
  /** Bytes of the largest input that is accepted. */
  largest: number;
  /** Milliseconds; for tests. */
  now?: () => number;
}

/** The inputs of all calls, bounded in number and in bytes, and shared by the tenants. */
export interface InboundBudget {
  /**
   * Takes on an input. Throws a `GatewayError`, `tenant_busy` or `busy`, where there are too many that come well. One whose
   * rate counts only from its first bytes (a download, whose server may have to think) has `slow: 'source_timeout'`.
   */
  enter(tenant: string, slow: InboundTimeout): InboundTransfer;
  /**
   * Takes on a body of a known length, or an infinite one, as soon as the tenant's part has room for all of it beside those that are being
   * read: to read more of them at once would end most of them half-way. After 20 seconds it is read all the same. Throws as `enter` does.
   */
  enterBody(tenant: string, bytes: number): InboundTransfer | Promise<InboundTransfer>;
  /** Counts bytes that are here already as held for a tenant's calls, whatever room there is, until what it gives is called, once. */
  hold(tenant: string, bytes: number): () => void;
  /** Has one told, from now on, of each input that is no longer on its way, however that ended: the milliseconds that it was. */
  watch(onLeave: (slow: InboundTimeout, ms: number) => void): void;
  /** Inputs on their way, and bytes held. */
  stats(): { arriving: number; bytes: number };
  close(): void;
}

/** Slow enough for any link that could bring a picture within the minute that a body may take. */
const minimumRate: MinimumRateOptions = { bytesPerSecond: 1024, patienceMs: 5000 };

/** Bodies up to this length, and those that do not announce theirs, wait for no room. */
const smallBytes = 64 * 1024;

/** How long a body waits for room before it is read all the same: the ones before it may come slowly. */
const longestWaitMs = 20_000;

/** A body is given up after this, however well it comes: a picture arrives within a minute on any link. */
const longestBodyMs = 60_000;

/** An input that has lost this much of its patience gives way where there is no room: it stalls while others come. */
const stalledMs = 250;

const messages: Record<InboundTimeout, string> = {
  request_timeout:
    'The request body came too slowly: at least 1 KB a second is wanted, no rest of 5 seconds, and all of it within a minute.',
  source_timeout: 'The server behind the url sent too slowly: at least 1 KB a second is wanted.',
};

/** How often it is looked for what comes too slowly. */
const tickMs = 50;

/** A body that is not read yet. */
interface WaitingBody {
  bytes: number;
  since: number;
  begin: (arrival: InboundTransfer | Promise<never>) => void;
}

interface Entry {
  tenant: string;
  announced: number;
  bytes: number;
  pace: MinimumRate;
  slow: InboundTimeout;
  since: number;
  /** When it is given up, by the peer's clock. */
  until: number;
  /** Whether its rate is judged yet. */
  begun: boolean;
  ending: Ending;
}

/**
 * What arrives slowly holds memory and a connection, and nothing else: no place in the pool, and none that somebody's
 * input needs that comes well. Where number or bytes are used up, the input that has stalled for longest is ended in favour
 * of one that comes; only where none stalls is the newcomer refused, or an input many times its size. What is ended for want of room is
 * told that there is none: too slow is only what falls below the rate, by the time in which this thread could have read it.
 */
export function createInboundBudget({
  most,
  bytes,
  largest,
  now: given,
}: InboundBudgetOptions): InboundBudget {
  const clock = new PeerClock();
  const now = given ?? clock.now;
  const wall = given ?? monotonic;
  const arriving = new Set<Entry>();
  const entries = new Map<string, Set<Entry>>();
  const counts = new TenantSums();
  const held = new TenantSums();
  const waiting = new Map<string, WaitingBody[]>();
  let onLeave: ((slow: InboundTimeout, ms: number) => void) | undefined;
  const tenantBytes = Math.max(bytes / 2, largest);
  const allBytes = Math.max(bytes, tenantBytes);
  const endSlow = sweepRoundRobin(arriving, {
    isOver: ({ begun, pace, until }, time) => begun && (pace.left(time) <= 0 || time >= until),
    end: (entry) => end(entry, new GatewayError(entry.slow, { message: messages[entry.slow] })),
  });
  const ticks = setInterval(() => {
    clock.turn();
    endSlow(now());
    for (const tenant of waiting.keys()) beginWaiting(tenant);
  }, tickMs).unref();

  /** What the bodies of a tenant still have to bring that come well. */
  function dueOf(tenant: string): number {
    const time = now();
    let due = 0;
    for (const { announced, bytes, pace: own } of entries.get(tenant) ?? []) {
      if (own.left(time) >= minimumRate.patienceMs - stalledMs) due += Math.max(0, announced - bytes);
    }
    return due;
  }

  function hasRoom(tenant: string, bytes: number): boolean {
    const used = held.of(tenant) + dueOf(tenant);
    return used === 0 || used + bytes <= tenantBytes;
  }

  /** Begins the tenant's bodies that there is room for, in the order in which they came. */
  function beginWaiting(tenant: string): void {
    const line = waiting.get(tenant) ?? [];
    for (;;) {
      const [first] = line;
      if (!first) break;
      if (!hasRoom(tenant, first.bytes) && wall() - first.since < longestWaitMs) return;
      line.shift();
      try {
        first.begin(enter(tenant, 'request_timeout', first.bytes));
      } catch (error) {
        first.begin(Promise.reject(error));
      }
    }
    waiting.delete(tenant);
  }

  function end(entry: Entry, error: GatewayError): void {
    leave(entry);
    drop(entry);
    entry.ending.end(error);
  }

  /** No longer on its way. */
  function leave(entry: Entry): void {
    if (!arriving.delete(entry)) return;
    counts.add(entry.tenant, -1);
    onLeave?.(entry.slow, wall() - entry.since);
    const of = entries.get(entry.tenant);
    of?.delete(entry);
    if (of?.size === 0) entries.delete(entry.tenant);
  }

  function drop(entry: Entry): void {
    held.add(entry.tenant, -entry.bytes);
    entry.bytes = 0;
  }

  /** The input of a tenant that has stalled for longest; of bytes only one that holds some. */
  function slowest(tenant: string, except?: Entry): Entry | undefined {
    let found: Entry | undefined;
    const time = now();
    let least = minimumRate.patienceMs - stalledMs;
    for (const entry of entries.get(tenant) ?? []) {
      const left = entry.pace.left(time);
      if (entry === except || left >= least || (except && entry.bytes === 0)) continue;
      least = left;
      found = entry;
    }
    return found;
  }

  /** The tenant's largest input on its way, if it is several times as large: a small call is not to end for it. */
  function largerThan({ tenant, bytes }: Entry): Entry | undefined {
    let found: Entry | undefined;
    for (const entry of entries.get(tenant) ?? []) {
      if (entry.bytes > (found?.bytes ?? 4 * bytes)) found = entry;
    }
    return found;
  }

  /** Ends stalled inputs until `sums` has room for the tenant's next; the error's code where that cannot be. */
  function makeRoom(
    sums: TenantSums,
    tenant: string,
    { own, all, except }: { own: number; all: number; except?: Entry },
  ): 'tenant_busy' | 'busy' | undefined {
    while (sums.of(tenant) > own || sums.total > all) {
      const mine = sums.of(tenant) > own;
      const victim = slowest(mine ? tenant : (sums.largest() ?? tenant), except);
      const full = mine ? 'tenant_busy' : 'busy';
      if (!victim) return full;
      end(victim, new GatewayError(full));
    }
    return undefined;
  }

  function enter(tenant: string, slow: InboundTimeout, announced = 0): InboundTransfer {
    const refusal = makeRoom(counts, tenant, { own: most / 2 - 1, all: most - 1 });
    if (refusal) throw new GatewayError(refusal);
    const ending = new Ending();
    const time = now();
    const entry: Entry = {
      tenant,
      announced,
      bytes: 0,
      pace: new MinimumRate(minimumRate, time),
      slow,
      since: wall(),
      // A download has a deadline of its own.
      until: slow === 'request_timeout' ? time + longestBodyMs : Number.POSITIVE_INFINITY,
      begun: slow === 'request_timeout',
      ending,
    };
    const of = entries.get(tenant) ?? new Set();
    entries.set(tenant, of.add(entry));
    arriving.add(entry);
    counts.add(tenant, 1);
    return {
      ending,
      add(received) {
        if (ending.ended) return;
        const time = now();
        if (!entry.begun) entry.pace = new MinimumRate(minimumRate, time);
        entry.begun = true;
        entry.pace.add(received, time);
        entry.bytes += received;
        held.add(tenant, received);
        const full = makeRoom(held, tenant, { own: tenantBytes, all: allBytes, except: entry });
        if (full) end(largerThan(entry) ?? entry, new GatewayError(full));
      },
      complete: () => leave(entry),
      release() {
        leave(entry);
        drop(entry);
      },
    };
  }

  return {
    enter: (tenant, slow) => enter(tenant, slow),
    enterBody(tenant, bytes) {
      const announced = Number.isFinite(bytes) ? bytes : 0;
      const line = waiting.get(tenant);
      if (announced <= smallBytes || (!line && hasRoom(tenant, announced))) {
        return enter(tenant, 'request_timeout', announced);
      }
      return new Promise((begin) => {
        const waiter = { bytes: announced, since: wall(), begin };
        if (line) line.push(waiter);
        else waiting.set(tenant, [waiter]);
      });
    },
    hold(tenant, bytes) {
      held.add(tenant, bytes);
      return () => held.add(tenant, -bytes);
    },
    watch: (told) => (onLeave = told),
    stats: () => ({ arriving: counts.total, bytes: held.total }),
    close: () => clearInterval(ticks),
  };
}
