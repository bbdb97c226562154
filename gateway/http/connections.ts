import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { announcedBytes, isComplete } from './body.js';

/** Gives a server its connections, which another process accepts. */
export interface Inlets {
  listen(server: Server, place: { host: string; port: number }): Promise<string>;
  close(): void;
}

export type Inlet = ReturnType<typeof receiveConnections>;

/** Has a server that does not listen work, and close, as one that does. */
export function receiveConnections(server: Server) {
  const open = new Set<Socket>();
  /** The last request on a connection, and the bytes that had come by then. */
  const asked = new WeakMap<Socket, Call & { bytes: number }>();
  /** Those without a request here yet: the server would end them for that. */
  const parked = new Map<Socket, () => void>();
  let onEmpty: (() => void) | undefined;

  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    server.prependListener(event, (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      asked.set(socket, { request, response, bytes: socket.bytesRead });
    });
  }
  // With this Node begins to look for connections that are too slow.
  server.emit('listening');

  const close = server.close.bind(server);
  server.close = (done = () => undefined) => {
    // Node counts its connections wrong where some are given away.
    onEmpty = () => {
      close();
      done();
    };
    for (const socket of parked.keys()) socket.destroy();
    if (open.size === 0) onEmpty();
    return server;
  };

  function isIdle(socket: Socket): boolean {
    const last = asked.get(socket);
    if (socket.destroyed || socket.writableEnded) return false;
    if (!last) return socket.bytesRead === 0;
    const { request, response, bytes } = last;
    if (!response.writableFinished || !request.complete) return false;
    // What has come since is the beginning of another request.
    return announcedBytes(request.headers) > 0 || socket.bytesRead === bytes;
  }

  function park(socket: Socket): void {
    const end = () => socket.destroy();
    const use = () => {
      parked.delete(socket);
      socket.off('readable', use).off('timeout', end).off('error', end).setTimeout(0);
      server.emit('connection', socket);
    };
    parked.set(socket, use);
    socket.on('readable', use).on('timeout', end).on('error', end).setTimeout(server.keepAliveTimeout);
  }

  return {
    /** One that was used before may stay idle as long as any other; a new one is soon asked something. */
    receive(socket: Socket, isUsed: boolean): void {
      // As a server's own are: a client that has sent all may still be answered.
      socket.allowHalfOpen = true;
      open.add(socket);
      socket.once('close', () => {
        parked.delete(socket);
        open.delete(socket);
        if (open.size === 0) onEmpty?.();
      });
      if (isUsed) park(socket);
      else server.emit('connection', socket);
    },
    /** Stops to read each connection once it has no request, and gives it to be passed on and destroyed here. */
    async pauseIdle(give: (socket: Socket) => void): Promise<void> {
      // Only what the server reads can be paused, and not in the iteration in which it begins to.
      for (const use of parked.values()) use();
      await setImmediate();
      const look = (socket: Socket) => {
        if (isIdle(socket)) {
          socket.pause();
          give(socket);
        } else asked.get(socket)?.response.once('close', () => look(socket));
      };
      // Of an answer that has begun the client may take its connection for one that stays.
      for (const socket of [...open]) look(socket);
    },
  };
}

/** What a client may still send after its answer, in all, and how long it may pause. */
const lingerLimits = { bytes: 64 * 1024 * 1024, ms: 30_000, pauseMs: 5_000 };

/** What all streams together may drop in a slice of time: 200 MB a second. */
const dropBudget = { bytes: 2 * 1024 * 1024, ms: 10 };

/** Chunks of a few bytes cost as much to drop as larger ones. */
const leastChunkWeight = 1024;

/** A stream that is resumed gives 64 KB before it can be paused again. */
const mostResumed = dropBudget.bytes / (64 * 1024);

export interface Call {
  request: IncomingMessage;
  response: ServerResponse;
}

export type Linger = ReturnType<typeof createLinger>;

/**
 * Ends connections as RFC 9112, 9.6 describes: closing while the client still sends makes the kernel reset the
 * connection, which overtakes the answer. So this side is closed behind the answer, and what still comes is dropped
 * within bounds.
 */
export function createLinger(server: Server) {
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
    // Node calls this after the last answer of a connection.
    socket.destroySoon = function lingerOrDestroy() {
      const request = calls.get(socket)?.request;
      if (!request || isComplete(request) || ending.has(socket)) destroySoon();
      else end(socket, request);
    };
  });

  const closeAll = server.closeAllConnections.bind(server);
  server.closeAllConnections = function closeAllConnections() {
    closeAll();
    // Sockets that Node has handed over are not on its list.
    for (const socket of ending) socket.destroy();
  };

  return {
    /** Closes this side once everything is written, and the connection when the client has closed its side. */
    end: (socket: Socket) => end(socket),
    lastCall: (socket: Socket) => calls.get(socket),
    /** Wraps a listener, so that the rest of a body does not reset the connection once its call is answered. */
    wrap: (listener: RequestListener): RequestListener =>
      function answer(request, response) {
        const { socket } = request;
        // What follows the last request of a connection is dropped.
        if (ending.has(socket)) return;
        calls.set(socket, { request, response });
        // Before Node reads on by itself, without bounds.
        if (announcedBytes(request.headers) > 0) {
          response.once('prefinish', () => {
            if (!isComplete(request)) drop(request, socket);
          });
        }
        listener(request, response);
      },
  };
}

/** Drops streams at one bounded speed for all: unwanted bytes would keep the main thread from calls. */
function createBoundedDrop(): (stream: Readable, socket: Socket) => void {
  const dropped = new WeakSet<Readable>();
  const waiting = new Set<Readable>();
  let left = dropBudget.bytes;
  let ticking = false;

  function tick(): void {
    left = dropBudget.bytes;
    ticking = waiting.size > 0;
    if (ticking) setTimeout(tick, dropBudget.ms);
    for (const stream of [...waiting].slice(0, mostResumed)) {
      waiting.delete(stream);
      stream.resume();
    }
  }

  return function drop(stream, socket) {
    if (dropped.has(stream) || socket.destroyed) return;
    dropped.add(stream);
    let bytes = 0;
    const destroy = () => void socket.destroy();
    const timers = [lingerLimits.ms, lingerLimits.pauseMs].map((ms) => setTimeout(destroy, ms).unref());
    const finish = () => {
      timers.forEach(clearTimeout);
      waiting.delete(stream);
      socket.off('close', finish);
    };
    socket.once('close', finish);
    stream.unpipe();
    stream.removeAllListeners('data').on('error', () => undefined);
    stream.once('end', finish).once('close', finish);
    stream.on('data', (chunk: Uint8Array) => {
      const weight = Math.max(chunk.byteLength, leastChunkWeight);
      bytes += weight;
      left -= weight;
      timers[1]?.refresh();
      if (bytes > lingerLimits.bytes) destroy();
      if (!ticking) setTimeout(tick, dropBudget.ms);
      ticking = true;
      if (left > 0) return;
      stream.pause();
      waiting.add(stream);
    });
    stream.resume();
  };
}
