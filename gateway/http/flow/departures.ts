import type { ServerResponse } from 'node:http';
import { monotonic, Pace, type PaceOptions } from './pace.js';
import { TenantSums } from './tenant-sums.js';

/** An answer that is being sent. */
export interface Departure {
  /** Says that the client's side has taken so many bytes more: its memory is held to the end, but it is read. */
  sent(bytes: number): void;
}

export interface DeparturesOptions {
  /** Bytes of answers that nobody has taken yet; a tenant may have half of them. */
  bytes: number;
  /** Called when a tenant may start work again. */
  onRoom: () => void;
  /** Milliseconds; for tests. */
  now?: () => number;
}

/** The answers of all calls until they are taken. */
export interface Departures {
  /** Whether more answers may be made for a tenant. */
  mayStart(tenant: string): boolean;
  /** Counts an answer of so many bytes until `response` is closed, and closes it if the client does not take it. */
  track(response: ServerResponse, tenant: string, bytes: number): Departure;
  /**
   * The same for an answer that is small, and so mostly taken by the system as soon as it is sent: it is looked at when this turn of
   * the event loop is over, and counted if it is not out by then.
   */
  trackSmall(response: ServerResponse, tenant: string, bytes: number): void;
  /** Bytes that wait to be taken. */
  stats(): { bytes: number };
  close(): void;
}

/** A client may rest for as long as a piece of 64 KB takes at this rate, and 5 seconds. */
const pace: PaceOptions = { bytesPerSecond: 16 * 1024, patienceMs: 9000 };

/** After this an answer is given up, however well its client reads. */
const longestMs = 120_000;

/**
 * A client that asks for large answers and reads none of them would fill the memory: what it has not taken counts against
 * its tenant and against the whole. Past either, the tenant's next tasks wait in the line until answers have been taken,
 * or given up for their slowness; nothing that was accepted is refused for it.
 */
export function createDepartures({ bytes: most, onRoom, now = monotonic }: DeparturesOptions): Departures {
  const unsent = new TenantSums();
  const open = new Map<ServerResponse, { since: number; pace: Pace }>();
  const sweep = setInterval(() => {
    const time = now();
    for (const [response, entry] of open) {
      if (entry.pace.left(time) <= 0 || time - entry.since > longestMs) response.destroy();
    }
  }, 500).unref();

  function mayStart(tenant: string): boolean {
    const own = unsent.of(tenant);
    return own < most / 2 && (unsent.total < most || own === 0);
  }

  function track(response: ServerResponse, tenant: string, bytes: number): Departure {
    const since = now();
    const entry = { since, pace: new Pace(pace, since) };
    unsent.add(tenant, bytes);
    open.set(response, entry);
    response.once('close', () => {
      open.delete(response);
      unsent.add(tenant, -bytes);
      onRoom();
    });
    return {
      sent: (taken) => entry.pace.add(taken, now()),
    };
  }

  let small: Parameters<typeof track>[] = [];
  function lookAtSmall(): void {
    const sent = small;
    small = [];
    for (const [response, tenant, bytes] of sent) {
      if (!response.writableFinished && !response.destroyed) track(response, tenant, bytes);
    }
  }

  return {
    mayStart,
    track,
    trackSmall(...answer) {
      if (small.push(answer) === 1) setImmediate(lookAtSmall);
    },
    stats: () => ({ bytes: unsent.total }),
    close: () => clearInterval(sweep),
  };
}
