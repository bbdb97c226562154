import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { GatewayError } from '../errors.js';
import {
  MinimumRate,
  type MinimumRateOptions,
  PeerClock,
  sweepRoundRobin,
  TenantSums,
  tickMs,
} from './budget.js';

/** An answer that is being sent. */
interface OutboundTransfer {
  /** Counts bytes that the client's side has read; the memory stays held until the end. */
  sent(bytes: number): void;
  /** Whether the client waits for this side at the moment, while its next bytes are read: it is not slow then. */
  waits(waiting: boolean): void;
}

interface OutboundBudgetOptions {
  /** Bytes of unread answers; a tenant may have half of them. */
  bytes: number;
  /** Called when an answer of a tenant has left: it may have room again, and with it the whole. */
  onRoom: (tenant: string) => void;
  /** Milliseconds; for tests. */
  now?: () => number;
}

/** Bounds the answers of all calls until clients have read them. */
export interface OutboundBudget {
  /** Why a tenant may get no more answers: its own unread ones, or everybody's together; undefined where it may. */
  backlog(tenant: string): 'own' | 'all' | undefined;
  /** Counts an answer until `response` closes, and closes it if the client does not read. A closed one is not counted. */
  track(response: ServerResponse, tenant: string, bytes: number): OutboundTransfer;
  /** The same for a small answer, which the system mostly accepts at once: counted only if it is not out after this iteration. */
  trackSmall(response: ServerResponse, tenant: string, bytes: number): void;
  /** Bytes that clients have not read. */
  stats(): { bytes: number };
  close(): void;
}

/** A client may rest for as long as a chunk of 64 KB takes at this rate, and 5 seconds. */
const minimumRate: MinimumRateOptions = { bytesPerSecond: 16 * 1024, graceMs: 9000 };

/** After this an answer is given up, however well its client reads. */
const longestMs = 120_000;

interface Entry {
  response: ServerResponse;
  since: number;
  rate: MinimumRate;
  waiting: boolean;
}

const untracked: OutboundTransfer = { sent: () => undefined, waits: () => undefined };

/**
 * A client that asks for large answers and reads none would fill the memory: what it has not read counts against its tenant and
 * against the whole. Past either, the tenant's next tasks stay queued until answers are read, or given up as too slow; nothing
 * that was accepted is refused for it.
 */
export function createOutboundBudget({
  bytes: most,
  onRoom,
  now: testClock,
}: OutboundBudgetOptions): OutboundBudget {
  const clock = new PeerClock();
  const now = testClock ?? clock.now;
  const unread = new TenantSums();
  const open = new Set<Entry>();
  const endSlow = sweepRoundRobin(open, {
    isOver({ response, rate, since, waiting }, time) {
      // An answer that waits for the one before it on its connection has not been offered to its client yet.
      if (waiting || response.socket === null) return false;
      return rate.left(time) <= 0 || time - since > longestMs;
    },
    end: ({ response }) => void response.destroy(),
  });
  const ticks = setInterval(() => {
    clock.tick();
    endSlow(now());
  }, tickMs).unref();

  function track(response: ServerResponse, tenant: string, bytes: number): OutboundTransfer {
    // Its one 'close' event is over.
    if (response.destroyed) return untracked;
    const entry: Entry = { response, since: 0, rate: new MinimumRate(minimumRate, 0), waiting: false };
    const restart = () => {
      entry.since = now();
      entry.rate = new MinimumRate(minimumRate, entry.since);
    };
    restart();
    unread.add(tenant, bytes);
    open.add(entry);
    if (response.socket === null) response.once('socket', restart);
    response.once('close', () => {
      open.delete(entry);
      unread.add(tenant, -bytes);
      onRoom(tenant);
    });
    return {
      sent: (read) => entry.rate.add(read, now()),
      waits(waiting) {
        entry.waiting = waiting;
        if (!waiting) entry.rate = new MinimumRate(minimumRate, now());
      },
    };
  }

  let small: Parameters<typeof track>[] = [];
  function trackUnsent(): void {
    const sent = small;
    small = [];
    for (const answer of sent) if (!answer[0].writableFinished) track(...answer);
  }

  return {
    backlog(tenant) {
      const own = unread.of(tenant);
      if (own >= most / 2) return 'own';
      return unread.total >= most && own > 0 ? 'all' : undefined;
    },
    track,
    trackSmall(...answer) {
      if (small.push(answer) === 1) setImmediate(trackUnsent);
    },
    stats: () => ({ bytes: unread.total }),
    close: () => clearInterval(ticks),
  };
}

/** Bytes written to the connection at a time. */
export const chunkBytes = 64 * 1024;

/** Bytes written in one iteration of the event loop, for a client that reads as fast as they come. */
const bytesPerIteration = 16 * chunkBytes;

/** The requester of answers that need no key. */
export const anonymous = '';

export const unreadMessage = 'Too many answers are on their way to clients that have not read them yet.';

/** Throws `busy` where this requester has left too much unread to get a page. */
export function requireOutboundBudget(budget: OutboundBudget, requester: string): void {
  if (budget.backlog(requester)) throw new GatewayError('busy', { message: unreadMessage });
}

/**
 * Sends a body as Koa would, but within the outbound budget, and in chunks where it is larger than one. A body that is `shared` by
 * all who ask for it counts as one chunk.
 */
export function sendBody(
  ctx: Pick<Context, 'body' | 'method' | 'res' | 'respond' | 'writable'>,
  body: Buffer | string,
  {
    outboundBudget: budget,
    requester,
    shared,
  }: { outboundBudget: OutboundBudget; requester: string; shared?: true | undefined },
): void {
  if (body.length <= chunkBytes) {
    budget.trackSmall(ctx.res, requester, body.length);
    ctx.body = body;
    return;
  }
  const whole = typeof body === 'string' ? Buffer.from(body) : body;
  ctx.body = whole;
  // Koa ends an answer without a body, or without a client.
  if (ctx.method === 'HEAD' || !ctx.writable) return;
  const { sent } = budget.track(ctx.res, requester, shared ? chunkBytes : whole.length);
  ctx.respond = false;
  sendInChunks(ctx.res, whole, sent);
}

/**
 * Sends bytes as the body of an answer, each chunk when the one before has been read: of one large write Node reports nothing until
 * its last byte is gone, and a client that reads slowly looks like one that does not read. What the system accepts at once,
 * which is all of most pictures, is not waited for: a stream would cost as much as all else that a cached picture takes. `onSent` is
 * called before more is sent.
 */
export function sendInChunks(
  response: ServerResponse,
  bytes: Uint8Array,
  onSent: (bytes: number) => void,
): void {
  let at = 0;

  function send(): void {
    if (response.destroyed) return;
    const from = at;
    let accepted = true;
    while (accepted && at + chunkBytes < bytes.length && at - from < bytesPerIteration) {
      accepted = writeNow(response, bytes.subarray(at, at + chunkBytes));
      at += chunkBytes;
    }
    const goOn = () => {
      onSent(at - from);
      send();
    };
    if (!accepted) response.once('drain', goOn);
    else if (at + chunkBytes < bytes.length) setImmediate(goOn);
    else response.end(bytes.subarray(at));
  }

  send();
}

/** Bytes in a file or on another server, which are read a window at a time. */
export interface StoredBytes {
  size: number;
  /** The bytes from `start` to before `end`. */
  read(start: number, end: number): Promise<Buffer>;
}

/** Stored bytes in memory at a time. */
export const windowBytes = 4 * chunkBytes;

/** Sends stored bytes, whose `first` window has been read, and ends the body. Reads each window when the client has read the one before. */
export async function sendStored(
  response: ServerResponse,
  { stored, first, closing }: { stored: StoredBytes; first: Buffer; closing: string },
  { sent, waits }: OutboundTransfer,
): Promise<void> {
  let window = first;
  for (let at = 0; !response.destroyed; ) {
    for (let from = 0; from < window.length; from += chunkBytes) {
      const chunk = window.subarray(from, from + chunkBytes);
      if (!writeNow(response, chunk)) await drained(response);
      if (response.destroyed) return;
      sent(chunk.length);
    }
    at += window.length;
    if (at >= stored.size) break;
    waits(true);
    window = await stored.read(at, Math.min(stored.size, at + windowBytes));
    waits(false);
    if (window.length === 0) throw new Error('what was stored has become shorter');
  }
  response.end(closing);
}

async function drained(response: ServerResponse): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  settled.abort();
}

/** Hands bytes to the system now, with an unsent head; Node would wait for the end of this iteration. True where it accepted all. */
function writeNow(response: ServerResponse, chunk: Uint8Array): boolean {
  const { socket } = response;
  socket?.cork();
  response.write(chunk);
  socket?.uncork();
  return response.writableLength === 0;
}
