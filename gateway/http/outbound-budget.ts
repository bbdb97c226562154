import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { GatewayError } from '../errors.js';
import { MinimumRate, type MinimumRateOptions, PeerClock, sweepRoundRobin, TenantSums } from './budget.js';

/** An answer that is being sent. */
interface OutboundTransfer {
  /** Says that the client's side has taken so many bytes more: its memory is held to the end, but it is read. */
  sent(bytes: number): void;
  /** Says whether the client waits for us at the moment, while its next bytes are read: it is not slow then. */
  waits(waiting: boolean): void;
}

interface OutboundBudgetOptions {
  /** Bytes of answers that nobody has taken yet; a tenant may have half of them. */
  bytes: number;
  /** Called when an answer of this tenant is gone: it may have room again, and with it the whole. */
  onRoom: (tenant: string) => void;
  /** Milliseconds; for tests. */
  now?: () => number;
}

/** What no more answers are made for: the tenant's own that wait, or everybody's together. */
type Backlog = 'own' | 'all';

/** The answers of all calls until they are taken. */
export interface OutboundBudget {
  /** Why no more answers may be made for a tenant; undefined where they may. */
  backlog(tenant: string): Backlog | undefined;
  /**
   * Counts an answer of so many bytes until `response` is closed, and closes it if the client does not take it. What is closed already,
   * because its client has gone, is not counted.
   */
  track(response: ServerResponse, tenant: string, bytes: number): OutboundTransfer;
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
const minimumRate: MinimumRateOptions = { bytesPerSecond: 16 * 1024, patienceMs: 9000 };

/** After this an answer is given up, however well its client reads. */
const longestMs = 120_000;

/** How often it is looked for what is to be given up. */
const tickMs = 50;

interface Entry {
  response: ServerResponse;
  since: number;
  pace: MinimumRate;
  waiting: boolean;
}

const untracked: OutboundTransfer = { sent: () => undefined, waits: () => undefined };

/**
 * A client that asks for large answers and reads none of them would fill the memory: what it has not taken counts against
 * its tenant and against the whole. Past either, the tenant's next tasks wait in the line until answers have been taken,
 * or given up for their slowness; nothing that was accepted is refused for it.
 */
export function createOutboundBudget({
  bytes: most,
  onRoom,
  now: given,
}: OutboundBudgetOptions): OutboundBudget {
  const clock = new PeerClock();
  const now = given ?? clock.now;
  const unsent = new TenantSums();
  const open = new Set<Entry>();
  const giveUp = sweepRoundRobin(open, {
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

  function track(response: ServerResponse, tenant: string, bytes: number): OutboundTransfer {
    // It says so once, and has done so.
    if (response.destroyed) return untracked;
    const since = now();
    const entry: Entry = { response, since, pace: new MinimumRate(minimumRate, since), waiting: false };
    unsent.add(tenant, bytes);
    open.add(entry);
    if (response.socket === null) {
      response.once('socket', () => {
        entry.since = now();
        entry.pace = new MinimumRate(minimumRate, entry.since);
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
        if (!waiting) entry.pace = new MinimumRate(minimumRate, now());
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

/** Bytes handed to the connection at a time. */
export const chunkBytes = 64 * 1024;

/** Bytes handed over in one turn of the event loop, should a client take them as fast as they come. */
const bytesPerIteration = 16 * chunkBytes;

/** Who has an answer: a tenant, somebody on the key site, or `strangers` together, who need no key for it. */
export const anonymous = '';

/** Throws `busy` where this requester has left so much unread that a page for them has to wait. */
export function requireOutboundBudget(departures: OutboundBudget, requester: string): void {
  if (departures.backlog(requester)) throw new GatewayError('busy', { message: unreadMessage });
}

/** Why no answer is begun for who has left too many. */
export const unreadMessage = 'Too many answers are on their way to clients that have not read them yet.';

/**
 * Sends a body as Koa would, but within the outbound budget: it counts against the requester until the client has read it, a body that
 * is `shared` by all who ask for it as no more than the piece on its way. What is larger than a piece goes out in pieces.
 */
export function sendBody(
  ctx: Pick<Context, 'body' | 'method' | 'res' | 'respond' | 'writable'>,
  body: Buffer | string,
  {
    departures,
    requester,
    shared,
  }: { departures: OutboundBudget; requester: string; shared?: true | undefined },
): void {
  if (body.length <= chunkBytes) {
    departures.trackSmall(ctx.res, requester, body.length);
    ctx.body = body;
    return;
  }
  const whole = typeof body === 'string' ? Buffer.from(body) : body;
  ctx.body = whole;
  // Koa ends what has no body, or no client any more.
  if (ctx.method === 'HEAD' || !ctx.writable) return;
  const { sent } = departures.track(ctx.res, requester, shared ? chunkBytes : whole.length);
  ctx.respond = false;
  sendInChunks(ctx.res, whole, sent);
}

/**
 * Sends bytes as the body of an answer, in pieces, each when the one before has been taken: of a whole buffer the connection tells
 * nothing until its last byte is gone, and a client that reads slowly looks like one that does not read. What the system takes at
 * once, which is all of most pictures, is waited for by nobody: a stream would cost as much again as all else that a kept picture
 * does. The memory stays until the end; `onTaken` is told what has been taken before more is sent.
 */
export function sendInChunks(
  response: ServerResponse,
  bytes: Uint8Array,
  onTaken: (bytes: number) => void,
): void {
  let at = 0;

  function send(): void {
    // A client that has gone takes nothing more, and nobody waits for the rest.
    if (response.destroyed) return;
    const from = at;
    let isTaken = true;
    while (isTaken && at + chunkBytes < bytes.length && at - from < bytesPerIteration) {
      isTaken = writeNow(response, bytes.subarray(at, at + chunkBytes));
      at += chunkBytes;
    }
    const goOn = () => {
      onTaken(at - from);
      send();
    };
    if (!isTaken) response.once('drain', goOn);
    else if (at + chunkBytes < bytes.length) setImmediate(goOn);
    else response.end(bytes.subarray(at));
  }

  send();
}

/** Bytes that lie in a file or with another server, and are read a stretch at a time. */
export interface StoredBytes {
  size: number;
  /** The bytes from `start` to before `end`. */
  read(start: number, end: number): Promise<Buffer>;
}

/** Bytes of them that are in memory at a time. */
export const windowBytes = 4 * chunkBytes;

/**
 * Sends stored bytes, of which the `first` stretch has been read, as the rest of a body and ends it. Each stretch is read when its
 * client has taken the one before.
 */
export async function sendStored(
  response: ServerResponse,
  { stored, first, closing }: { stored: StoredBytes; first: Buffer; closing: string },
  { sent, waits }: Pick<OutboundTransfer, 'sent' | 'waits'>,
): Promise<void> {
  let stretch = first;
  for (let at = 0; !response.destroyed; ) {
    for (let from = 0; from < stretch.length; from += chunkBytes) {
      const piece = stretch.subarray(from, from + chunkBytes);
      if (!writeNow(response, piece)) await drained(response);
      if (response.destroyed) return;
      sent(piece.length);
    }
    at += stretch.length;
    if (at >= stored.size) break;
    waits(true);
    stretch = await stored.read(at, Math.min(stored.size, at + windowBytes));
    waits(false);
    if (stretch.length === 0) throw new Error('what was stored has become shorter');
  }
  response.end(closing);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    function end(): void {
      response.off('drain', end).off('close', end);
      resolve();
    }
    response.on('drain', end).on('close', end);
  });
}

/** Hands bytes to the system now, with the head where that has not gone: Node would wait for the end of this turn. Gives whether it took all. */
function writeNow(response: ServerResponse, piece: Uint8Array): boolean {
  const { socket } = response;
  socket?.cork();
  response.write(piece);
  socket?.uncork();
  return response.writableLength === 0;
}
