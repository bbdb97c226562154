import type { ServerResponse } from 'node:http';
import { setImmediate as nextIteration } from 'node:timers/promises';
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

interface OutboundBudgetOptions {
  /** Bytes of unread answers; a tenant may have half of them. */
  bytes: number;
  /** Called when an answer of a tenant has left: it may have room again, and with it the whole. */
  onRoom: (tenant: string) => void;
  now?: () => number;
}

export type OutboundBudget = ReturnType<typeof createOutboundBudget>;

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

const untracked = { sent: () => undefined, waits: () => undefined };

/**
 * Bounds what clients have not read yet, which would fill the memory: it counts against the tenant and the whole. Past
 * either, the tenant's next tasks stay queued until answers are read, or given up as too slow; nothing accepted is
 * refused.
 */
export function createOutboundBudget({ bytes: most, onRoom, now: testClock }: OutboundBudgetOptions) {
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

  /** Counts an answer until `response` closes, and closes it if the client does not read. A closed one is not counted. */
  function track(response: ServerResponse, tenant: string, bytes: number) {
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
      /** Counts bytes that the client's side has read; the memory stays held until the end. */
      sent: (read: number): void => entry.rate.add(read, now()),
      /** Whether the client waits for this side, while its next bytes are read: it is not slow then. */
      waits(waiting: boolean): void {
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
    /** Why a tenant may get no more answers: its own unread ones, or everybody's together; undefined where it may. */
    backlog(tenant: string): 'own' | 'all' | undefined {
      const own = unread.of(tenant);
      if (own >= most / 2) return 'own';
      return unread.total >= most && own > 0 ? 'all' : undefined;
    },
    track,
    /** The same for a small answer, which the system mostly accepts at once: counted only if it is not out after this iteration. */
    trackSmall(...answer: Parameters<typeof track>): void {
      if (small.push(answer) === 1) setImmediate(trackUnsent);
    },
    stats: () => ({ bytes: unread.total }),
    close: () => clearInterval(ticks),
  };
}

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

/** Sends a body as Koa would, but within the budget and in chunks. One that is `shared` by all counts as one chunk. */
export function sendBody(
  ctx: Pick<Context, 'body' | 'method' | 'res' | 'respond' | 'writable'>,
  body: Buffer | string,
  options: { outboundBudget: OutboundBudget; requester: string; shared?: true | undefined },
): void {
  const { outboundBudget: budget, requester, shared } = options;
  if (body.length <= chunkBytes) {
    budget.trackSmall(ctx.res, requester, body.length);
    ctx.body = body;
    return;
  }
  const whole = typeof body === 'string' ? Buffer.from(body) : body;
  ctx.body = whole;
  // Koa ends an answer without a body, or without a client.
  if (ctx.method === 'HEAD' || !ctx.writable) return;
  const transfer = budget.track(ctx.res, requester, shared ? chunkBytes : whole.length);
  ctx.respond = false;
  sendInChunks(ctx.res, { first: whole }, transfer).catch(() => ctx.res.destroy());
}

/** Bytes in a file or on another server, which are read a window at a time. */
export interface StoredBytes {
  size: number;
  read(start: number, end: number): Promise<Buffer>;
}

export const windowBytes = 4 * chunkBytes;

/**
 * Sends bytes, or stored ones whose `first` window has been read, and ends the body: each chunk when the one before has
 * been read, for of one large write Node reports nothing until its last byte is gone. What the system accepts at once,
 * all of most pictures, is not waited for: a stream would cost as much as all else that a cached picture takes.
 */
export async function sendInChunks(
  response: ServerResponse,
  { first, stored, closing = '' }: { first: Buffer; stored?: StoredBytes; closing?: string },
  { sent, waits }: ReturnType<OutboundBudget['track']>,
): Promise<void> {
  const size = stored?.size ?? first.length;
  let window = first;
  for (let at = 0; at < size && !response.destroyed; ) {
    if (stored && at > 0) {
      waits(true);
      window = await stored.read(at, Math.min(size, at + windowBytes));
      waits(false);
    }
    if (window.length === 0) throw new Error('what was stored has become shorter');
    for (let from = 0; from < window.length; from += chunkBytes) {
      if (response.destroyed) return;
      const chunk = window.subarray(from, from + chunkBytes);
      at += chunk.length;
      if (at === size && closing === '') return void response.end(chunk);
      if (!writeNow(response, chunk)) await drained(response);
      else if (at % bytesPerIteration === 0) await nextIteration();
      sent(chunk.length);
    }
  }
  if (!response.destroyed) response.end(closing);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.on('drain', settle).on('close', settle);
  });
}

/** Hands bytes to the system now, with an unsent head; Node would wait for the end of this iteration. True where it accepted all. */
function writeNow(response: ServerResponse, chunk: Uint8Array): boolean {
  const { socket } = response;
  socket?.cork();
  response.write(chunk);
  socket?.uncork();
  return response.writableLength === 0;
}
