import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { GatewayError } from '../../errors.js';
import type { Departure, Departures } from './departures.js';

/** Bytes handed to the connection at a time. */
export const pieceBytes = 64 * 1024;

/** Bytes handed over in one turn of the event loop, should a client take them as fast as they come. */
const turnBytes = 16 * pieceBytes;

/** Who has an answer: a tenant, somebody on the key site, or `strangers` together, who need no key for it. */
export const strangers = '';

/** Throws `busy` where this requester has left so much unread that a page for them has to wait. */
export function requireRoom(departures: Departures, requester: string): void {
  if (departures.backlog(requester)) throw new GatewayError('busy', { message: unread });
}

/** Why no answer is begun for who has left too many. */
export const unread = 'Too many answers are on their way to clients that have not read them yet.';

/**
 * Sends a body as Koa would, but within the outbound budget: it counts against the requester until the client has read it, a body that
 * is `shared` by all who ask for it as no more than the piece on its way. What is larger than a piece goes out in pieces.
 */
export function sendBody(
  ctx: Pick<Context, 'body' | 'method' | 'res' | 'respond' | 'writable'>,
  body: Buffer | string,
  { departures, requester, shared }: { departures: Departures; requester: string; shared?: true | undefined },
): void {
  if (body.length <= pieceBytes) {
    departures.trackSmall(ctx.res, requester, body.length);
    ctx.body = body;
    return;
  }
  const whole = typeof body === 'string' ? Buffer.from(body) : body;
  ctx.body = whole;
  // Koa ends what has no body, or no client any more.
  if (ctx.method === 'HEAD' || !ctx.writable) return;
  const { sent } = departures.track(ctx.res, requester, shared ? pieceBytes : whole.length);
  ctx.respond = false;
  sendInPieces(ctx.res, whole, sent);
}

/**
 * Sends bytes as the body of an answer, in pieces, each when the one before has been taken: of a whole buffer the connection tells
 * nothing until its last byte is gone, and a client that reads slowly looks like one that does not read. What the system takes at
 * once, which is all of most pictures, is waited for by nobody: a stream would cost as much again as all else that a kept picture
 * does. The memory stays until the end; `onTaken` is told what has been taken before more is sent.
 */
export function sendInPieces(
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
    while (isTaken && at + pieceBytes < bytes.length && at - from < turnBytes) {
      isTaken = write(response, bytes.subarray(at, at + pieceBytes));
      at += pieceBytes;
    }
    const goOn = () => {
      onTaken(at - from);
      send();
    };
    if (!isTaken) response.once('drain', goOn);
    else if (at + pieceBytes < bytes.length) setImmediate(goOn);
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
export const stretchBytes = 4 * pieceBytes;

/**
 * Sends stored bytes, of which the `first` stretch has been read, as the rest of a body and ends it. Each stretch is read when its
 * client has taken the one before.
 */
export async function sendStored(
  response: ServerResponse,
  { stored, first, closing }: { stored: StoredBytes; first: Buffer; closing: string },
  { sent, waits }: Pick<Departure, 'sent' | 'waits'>,
): Promise<void> {
  let stretch = first;
  for (let at = 0; !response.destroyed; ) {
    for (let from = 0; from < stretch.length; from += pieceBytes) {
      const piece = stretch.subarray(from, from + pieceBytes);
      if (!write(response, piece)) await drained(response);
      if (response.destroyed) return;
      sent(piece.length);
    }
    at += stretch.length;
    if (at >= stored.size) break;
    waits(true);
    stretch = await stored.read(at, Math.min(stored.size, at + stretchBytes));
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
function write(response: ServerResponse, piece: Uint8Array): boolean {
  const { socket } = response;
  socket?.cork();
  response.write(piece);
  socket?.uncork();
  return response.writableLength === 0;
}
