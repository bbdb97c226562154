import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { hasBody } from './body.js';

/** Gives a server its connections, which another process accepts. */
export interface Inlets {
  /** Gives the url to reach it at. */
  listen(server: Server, place: { host: string; port: number }): Promise<string>;
  /** Takes no more. */
  close(): void;
}

/** Connections that another process accepts for a server of this one. */
export interface Inlet {
  /** One that was used before may stay idle as long as any other; a new one is soon asked something. */
  receive(socket: Socket, isUsed: boolean): void;
  /**
   * Stops to read on each connection on which nothing is asked, now or later, and gives them to be passed on and destroyed here.
   */
  pauseIdle(give: (socket: Socket) => void): Promise<void>;
}

/** What was asked last on a connection, and the bytes that had come with it. */
interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  bytes: number;
}

/** Has a server that does not listen work, and close, as one that does. */
export function receiveConnections(server: Server): Inlet {
  const open = new Set<Socket>();
  const asked = new WeakMap<Socket, Asked>();
  /** Those on which nothing has been asked here yet: the server would end them for that. */
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
    return hasBody(request.headers) || socket.bytesRead === bytes;
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
    receive(socket, isUsed) {
      // As a server's own are: whoever has said all may still be answered.
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
    async pauseIdle(give) {
      // Only what the server reads can be paused, and not in the turn in which it begins to.
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
