import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { hasBody } from './body.js';

/** What a client may go on sending after its answer, in all; and how long it may pause. */
const lingerLimits = { bytes: 64 * 1024 * 1024, ms: 30_000, pauseMs: 5_000 };

/** What was asked on a connection, and its answer. */
export interface Call {
  request: IncomingMessage;
  response: ServerResponse;
}

/** How connections end. */
export interface Linger {
  /** Wraps a listener, so that what is left of a body when its call has been answered does not reset the connection. */
  wrap(listener: RequestListener): RequestListener;
  /** The last call that was asked for on a connection. */
  lastCall(socket: Socket): Call | undefined;
  /** Closes the own side once what was written is sent, and the connection when the client has done so too. */
  end(socket: Socket): void;
}

/**
 * Ends connections as RFC 9112, 9.6 has it. To close one while its client still sends makes the kernel reset it, and the
 * reset overtakes the answer: the client sees a broken connection and not why it was refused. So the answer goes out, then
 * the own side is closed where the connection is to end, and what still comes is read and dropped within bounds. A
 * connection that may be kept is kept, if the body comes to its end.
 */
export function createLinger(server: Server): Linger {
  const drop = createBoundedDrop();
  const calls = new WeakMap<Socket, Call>();
  const ending = new Set<Socket>();

  function end(socket: Socket, stream: Readable = socket): void {
    if (ending.has(socket)) return;
    ending.add(socket);
    socket.once('close', () => ending.delete(socket));
    stream.once('end', () => socket.destroySoon());
    drop(stream, socket);
    socket.end();
  }

  server.on('connection', (socket: Socket) => {
    const destroySoon = socket.destroySoon.bind(socket);
    // What Node calls when an answer is out after which the connection ends.
    socket.destroySoon = function lingerOrDestroy() {
      const request = calls.get(socket)?.request;
      if (!request || request.complete || ending.has(socket)) destroySoon();
      else end(socket, request);
    };
  });

  const closeAll = server.closeAllConnections.bind(server);
  server.closeAllConnections = function closeAllConnections() {
    closeAll();
    // Those that Node has handed over are not on its list.
    for (const socket of ending) socket.destroy();
  };

  return {
    end: (socket) => end(socket),
    lastCall: (socket) => calls.get(socket),
    wrap: (listener) =>
      function answer(request, response) {
        const { socket } = request;
        // What comes behind the last request of a connection is dropped like all else.
        if (ending.has(socket)) return;
        calls.set(socket, { request, response });
        // Before Node would do so itself, without bounds.
        if (hasBody(request.headers)) {
          response.once('prefinish', () => {
            if (!request.complete) drop(request, socket);
          });
        }
        listener(request, response);
      },
  };
}

/** Drops what comes of a stream to its end, or to the bounds and with them to the connection's. */
function createBoundedDrop(): (stream: Readable, socket: Socket) => void {
  const discard = createDiscard();
  const dropped = new WeakSet<Readable>();
  return function drop(stream, socket) {
    if (dropped.has(stream) || socket.destroyed) return;
    dropped.add(stream);
    let bytes = 0;
    const cut = () => void socket.destroy();
    const timers = [
      setTimeout(cut, lingerLimits.ms).unref(),
      setTimeout(cut, lingerLimits.pauseMs).unref(),
    ] as const;
    const over = () => {
      timers.forEach(clearTimeout);
      // The connection may bring many more bodies that nobody wants.
      socket.off('close', over);
    };
    stream.once('end', over);
    socket.once('close', over);
    discard(stream, (length) => {
      bytes += length;
      timers[1].refresh();
      if (bytes > lingerLimits.bytes) cut();
    });
  };
}

/** Reads and drops what comes of a stream, whoever read it before, and tells how much at a time. */
type Discard = (stream: Readable, dropped: (bytes: number) => void) => void;

/** What is dropped in a turn, of all streams together, and how far turns lie apart: 200 MB a second. */
const dropBudget = { bytes: 2 * 1024 * 1024, ms: 10 };

/** Chunks of a few bytes cost as much to drop as larger ones. */
const leastChunkWeight = 1024;

/** A stream that is resumed gives 64 KB before it can be stopped again. */
const mostResumed = dropBudget.bytes / (64 * 1024);

/**
 * Streams that are dropped share one bounded speed and take turns. What nobody wants arrives as fast as the network carries
 * it, also from those who have no key, and would take the main thread from the calls that are served.
 */
export function createDiscard(): Discard {
  const waiting = new Set<Readable>();
  let left = dropBudget.bytes;
  let turns = false;

  function nextTurn(): void {
    left = dropBudget.bytes;
    turns = waiting.size > 0;
    if (turns) setTimeout(nextTurn, dropBudget.ms);
    let resumed = 0;
    for (const stream of waiting) {
      if (resumed === mostResumed) break;
      resumed += 1;
      waiting.delete(stream);
      stream.resume();
    }
  }

  return function discard(stream, dropped) {
    stream.unpipe();
    stream.removeAllListeners('data');
    stream.on('error', () => undefined);
    stream.once('close', () => waiting.delete(stream));
    stream.on('data', (chunk: Uint8Array) => {
      const weight = Math.max(chunk.byteLength, leastChunkWeight);
      dropped(weight);
      left -= weight;
      if (!turns) setTimeout(nextTurn, dropBudget.ms);
      turns = true;
      if (left > 0) return;
      stream.pause();
      waiting.add(stream);
    });
    stream.resume();
  };
}
