import { GatewayError } from '../errors.js';
import {
  MinimumRate,
  type MinimumRateOptions,
  monotonic,
  PeerClock,
  sweepRoundRobin,
  TenantSums,
  tickMs,
} from './budget.js';

export interface InboundTransfer {
  /** Aborted with a `GatewayError` when the transfer is given up. */
  readonly signal: AbortSignal;
  /** Counts received bytes, 0 for the head of an answer; may end this transfer or a slower one. */
  add(bytes: number): void;
  /** Marks the transfer as complete: its bytes count until `release`, but nothing ends it any more. */
  complete(): void;
  /** Forgets the transfer and its bytes; may be called twice. */
  release(): void;
}

interface InboundBudgetOptions {
  /** Transfers at a time; a tenant may have half of them. */
  most: number;
  /** Bytes held for calls, on their way and complete; a tenant may hold half, or one input of the largest size. */
  bytes: number;
  largest: number;
  now?: () => number;
}

export type InboundBudget = ReturnType<typeof createInboundBudget>;

/** Slow enough for any link that could bring a picture within the minute that a body may take. */
const minimumRate: MinimumRateOptions = { bytesPerSecond: 1024, graceMs: 5000 };

/** Bodies up to this length, and those that do not announce theirs, never wait for room. */
const smallBytes = 64 * 1024;

/** The bodies ahead may be slow. */
const longestWaitMs = 20_000;

/** A picture arrives within a minute on any link. */
const longestBodyMs = 60_000;

/** A transfer that has used up this much of its grace period is stalled, and yields to others where there is no room. */
const stalledMs = 250;

const messages = {
  request_timeout:
    'The request body came too slowly: at least 1 KB a second is wanted, no rest of 5 seconds, and all of it within a minute.',
  source_timeout: 'The server behind the url sent too slowly: at least 1 KB a second is wanted.',
};

export type InboundTimeout = keyof typeof messages;

interface WaitingBody {
  bytes: number;
  since: number;
  begin: (transfer: InboundTransfer | Promise<never>) => void;
}

interface TransferEntry {
  tenant: string;
  announced: number;
  bytes: number;
  rate: MinimumRate;
  timeout: InboundTimeout;
  since: number;
  /** When it is given up, by the peer's clock. */
  until: number;
  begun: boolean;
  controller: AbortController;
}

/**
 * Bounds the inputs of all calls, in number and in bytes, and shares both among the tenants. Where either is used up,
 * the input that has stalled for longest is ended; only where none stalls is the newcomer refused, or an input many
 * times its size. That is `busy`: only an input below the minimum rate, by the time in which this thread could have
 * read it, is slow.
 */
export function createInboundBudget({ most, bytes, largest, now: testClock }: InboundBudgetOptions) {
  const clock = new PeerClock();
  const now = testClock ?? clock.now;
  const wall = testClock ?? monotonic;
  const arriving = new Set<TransferEntry>();
  const byTenant = new Map<string, Set<TransferEntry>>();
  const counts = new TenantSums();
  const held = new TenantSums();
  const waiting = new Map<string, WaitingBody[]>();
  let onLeave: ((timeout: InboundTimeout, ms: number) => void) | undefined;
  const tenantBytes = Math.max(bytes / 2, largest);
  const allBytes = Math.max(bytes, tenantBytes);
  const endSlow = sweepRoundRobin(arriving, {
    isOver: ({ begun, rate, until }, time) => begun && (rate.left(time) <= 0 || time >= until),
    end: (entry) => end(entry, new GatewayError(entry.timeout, { message: messages[entry.timeout] })),
  });
  const ticks = setInterval(() => {
    clock.tick();
    endSlow(now());
    for (const tenant of waiting.keys()) beginWaiting(tenant);
  }, tickMs).unref();

  function hasRoom(tenant: string, bytes: number): boolean {
    const time = now();
    let used = held.of(tenant);
    for (const { announced, bytes: received, rate } of byTenant.get(tenant) ?? []) {
      if (rate.left(time) >= minimumRate.graceMs - stalledMs) used += Math.max(0, announced - received);
    }
    return used === 0 || used + bytes <= tenantBytes;
  }

  function beginWaiting(tenant: string): void {
    const queue = waiting.get(tenant) ?? [];
    for (let first = queue[0]; first; first = queue[0]) {
      if (!hasRoom(tenant, first.bytes) && wall() - first.since < longestWaitMs) return;
      queue.shift();
      try {
        first.begin(enter(tenant, 'request_timeout', first.bytes));
      } catch (error) {
        first.begin(Promise.reject(error));
      }
    }
    waiting.delete(tenant);
  }

  function end(entry: TransferEntry, error: GatewayError): void {
    release(entry);
    entry.controller.abort(error);
  }

  function leave(entry: TransferEntry): void {
    if (!arriving.delete(entry)) return;
    counts.add(entry.tenant, -1);
    onLeave?.(entry.timeout, wall() - entry.since);
    const own = byTenant.get(entry.tenant);
    own?.delete(entry);
    if (own?.size === 0) byTenant.delete(entry.tenant);
  }

  function release(entry: TransferEntry): void {
    leave(entry);
    held.add(entry.tenant, -entry.bytes);
    entry.bytes = 0;
  }

  /** The transfer of a tenant that has stalled for longest; of bytes only one that holds some. */
  function slowest(tenant: string, sums: TenantSums, except?: TransferEntry): TransferEntry | undefined {
    let found: TransferEntry | undefined;
    const time = now();
    let least = minimumRate.graceMs - stalledMs;
    for (const entry of byTenant.get(tenant) ?? []) {
      const left = entry.rate.left(time);
      if (entry === except || left >= least || (sums === held && entry.bytes === 0)) continue;
      least = left;
      found = entry;
    }
    return found;
  }

  /** The tenant's largest transfer if it is several times as large: a small call must not end for it. */
  function largerThan(tenant: string, bytes: number): TransferEntry | undefined {
    let found: TransferEntry | undefined;
    for (const entry of byTenant.get(tenant) ?? []) {
      if (entry.bytes > (found?.bytes ?? 4 * bytes)) found = entry;
    }
    return found;
  }

  /** Ends stalled transfers until `sums` is within bounds; the error's code where that is impossible. */
  function makeRoom(
    sums: TenantSums,
    tenant: string,
    { own, all, except }: { own: number; all: number; except?: TransferEntry },
  ): 'tenant_busy' | 'busy' | undefined {
    while (sums.of(tenant) > own || sums.total > all) {
      const mine = sums.of(tenant) > own;
      const victim = slowest(mine ? tenant : (sums.largest() ?? tenant), sums, except);
      const full = mine ? 'tenant_busy' : 'busy';
      if (!victim) return full;
      end(victim, new GatewayError(full));
    }
    return undefined;
  }

  /** Starts a transfer, or throws `tenant_busy` or `busy`. A download's rate counts from its first bytes. */
  function enter(tenant: string, timeout: InboundTimeout, announced = 0): InboundTransfer {
    const refusal = makeRoom(counts, tenant, { own: most / 2 - 1, all: most - 1 });
    if (refusal) throw new GatewayError(refusal);
    const controller = new AbortController();
    const { signal } = controller;
    const time = now();
    const isBody = timeout === 'request_timeout';
    const entry: TransferEntry = {
      tenant,
      announced,
      bytes: 0,
      rate: new MinimumRate(minimumRate, time),
      timeout,
      since: wall(),
      // A download has a deadline of its own.
      until: isBody ? time + longestBodyMs : Number.POSITIVE_INFINITY,
      begun: isBody,
      controller,
    };
    byTenant.set(tenant, (byTenant.get(tenant) ?? new Set()).add(entry));
    arriving.add(entry);
    counts.add(tenant, 1);
    return {
      signal,
      add(received) {
        if (signal.aborted) return;
        const time = now();
        if (!entry.begun) entry.rate = new MinimumRate(minimumRate, time);
        entry.begun = true;
        entry.rate.add(received, time);
        entry.bytes += received;
        held.add(tenant, received);
        const full = makeRoom(held, tenant, { own: tenantBytes, all: allBytes, except: entry });
        if (full) end(largerThan(tenant, entry.bytes) ?? entry, new GatewayError(full));
      },
      complete: () => leave(entry),
      release: () => release(entry),
    };
  }

  /** Counts bytes that are already here as held for a tenant, whether there is room or not; call the result once to release them. */
  function hold(tenant: string, bytes: number): () => void {
    held.add(tenant, bytes);
    return () => held.add(tenant, -bytes);
  }

  return {
    enter,
    /**
     * Starts a body, of a known or infinite length, once the tenant has room for all of it (more at once would end most
     * of them half-way), or after 20 seconds. Throws as `enter` does.
     */
    enterBody(tenant: string, bytes: number): InboundTransfer | Promise<InboundTransfer> {
      const announced = Number.isFinite(bytes) ? bytes : 0;
      const queue = waiting.get(tenant);
      if (announced <= smallBytes || (!queue && hasRoom(tenant, announced))) {
        return enter(tenant, 'request_timeout', announced);
      }
      return new Promise((begin) => {
        const body = { bytes: announced, since: wall(), begin };
        if (queue) queue.push(body);
        else waiting.set(tenant, [body]);
      });
    },
    /** Counts a body that came whole with its head; the result forgets it. Throws as `enter` does, for want of room. */
    accept(tenant: string, bytes: number): () => void {
      const forget = hold(tenant, bytes);
      const full = makeRoom(held, tenant, { own: tenantBytes, all: allBytes });
      const larger = full && largerThan(tenant, bytes);
      if (larger) end(larger, new GatewayError(full));
      else if (full) {
        forget();
        throw new GatewayError(full);
      }
      onLeave?.('request_timeout', 0);
      return forget;
    },
    hold,
    /** Reports each transfer that has ended, in whatever way, with its milliseconds. */
    watch(listener: (timeout: InboundTimeout, ms: number) => void): void {
      onLeave = listener;
    },
    stats: () => ({ arriving: counts.total, bytes: held.total }),
    close: () => clearInterval(ticks),
  };
}
