import type { ServerResponse } from 'node:http';
import { Pace, type PaceOptions, PeerClock } from './pace.js';
import { goRound } from './rounds.js';
import { TenantSums } from './tenant-sums.js';

/** An answer that is being sent. */
export interface Departure {
  /** Says that the client's side has taken so many bytes more: its memory is held to the end, but it is read. */
  sent(bytes: number): void;
  /** Says whether the client waits for us at the moment, while its next bytes are read: it is not slow then. */
  waits(waiting: boolean): void;
}

export interface DeparturesOptions {
  /** Bytes of answers that nobody has taken yet; a tenant may have half of them. */
  bytes: number;
  /** Called when an answer of this tenant is gone: it may have room again, and with it the whole. */
  onRoom: (tenant: string) => void;
  /** Milliseconds; for tests. */
  now?: () => number;
}

/** What no more answers are made for: the tenant's own that wait, or everybody's together. */
export type Backlog = 'own' | 'all';

/** The answers of all calls until they are taken. */
export interface Departures {
  /** Why no more answers may be made for a tenant; undefined where they may. */
  backlog(tenant: string): Backlog | undefined;
  /**
   * Counts an answer of so many bytes until `response` is closed, and closes it if the client does not take it. What is closed already,
   * because its client has gone, is not counted.
   */
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

/** How often it is looked for what is to be given up. */
const tickMs = 50;

interface Entry {
  response: ServerResponse;
  since: number;
  pace: Pace;
  waiting: boolean;
}

const untracked: Departure = { sent: () => undefined, waits: () => undefined };

/**
 * A client that asks for large answers and reads none of them would fill the memory: what it has not taken counts against
 * its tenant and against the whole. Past either, the tenant's next tasks wait in the line until answers have been taken,
 * or given up for their slowness; nothing that was accepted is refused for it.
 */
export function createDepartures({ bytes: most, onRoom, now: given }: DeparturesOptions): Departures {
  const clock = new PeerClock();
  const now = given ?? clock.now;
  const unsent = new TenantSums();
  const open = new Set<Entry>();
  const giveUp = goRound(open, {
    isOver({ response, pace, since, waiting }, time) {
      // An answer that waits for the one before it on its connection has not been offered to its client yet.
      if (waiting || response.socket === null) return false;
      return pace.left(time) <= 0 || time - since > longestMs;
    },
    end: ({ response }) => void response.destroy(),
  });
  const ticks = setInterval(() => {
    clock.turn();
    giveUp(now());
  }, tickMs).unref();

  function backlog(tenant: string): Backlog | undefined {
    const own = unsent.of(tenant);
    if (own >= most / 2) return 'own';
    return unsent.total >= most && own > 0 ? 'all' : undefined;
  }

  function track(response: ServerResponse, tenant: string, bytes: number): Departure {
    // It says so once, and has done so.
    if (response.destroyed) return untracked;
    const since = now();
    const entry: Entry = { response, since, pace: new Pace(pace, since), waiting: false };
    unsent.add(tenant, bytes);
    open.add(entry);
    if (response.socket === null) {
      response.once('socket', () => {
        entry.since = now();
        entry.pace = new Pace(pace, entry.since);
      });
    }
    response.once('close', () => {
      open.delete(entry);
      unsent.add(tenant, -bytes);
      onRoom(tenant);
    });
    return {
      sent: (taken) => entry.pace.add(taken, now()),
      waits(waiting) {
        entry.waiting = waiting;
        if (!waiting) entry.pace = new Pace(pace, now());
      },
    };
  }

  let small: Parameters<typeof track>[] = [];
  function lookAtSmall(): void {
    const sent = small;
    small = [];
    for (const [response, tenant, bytes] of sent) {
      if (!response.writableFinished) track(response, tenant, bytes);
    }
  }

  return {
    backlog,
    track,
    trackSmall(...answer) {
      if (small.push(answer) === 1) setImmediate(lookAtSmall);
    },
    stats: () => ({ bytes: unsent.total }),
    close: () => clearInterval(ticks),
  };
}
