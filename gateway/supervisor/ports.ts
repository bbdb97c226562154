import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Place, type PortName, sendTo, type ToProcess } from './messages.js';

interface Connection {
  port: PortName;
  socket: Socket;
  /** Another process has answered on it before. */
  isUsed: boolean;
}

/** Connections that wait for a process; those past them are closed. */
const mostWaiting = 10_000;

/** The ports of a host. Each connection goes to one of the `candidates`; while there is none, connections wait. */
export function createPorts(candidates: (port: PortName) => ChildProcess[]) {
  const opened = new Map<PortName, { server: Server; url: Promise<string> }>();
  /** Sent to a process, and not yet accepted by it. */
  const sent = new Map<number, Connection & { to: ChildProcess }>();
  let waiting: Connection[] = [];
  let lastId = 0;
  let pausing: HttpServer | undefined;

  function pass(connection: Connection): void {
    const { port, socket, isUsed } = connection;
    if (socket.destroyed) return;
    const to = choose(port);
    if (!to) {
      // A connection that a process declines may come back after its port was closed.
      if (opened.has(port) && waiting.length < mostWaiting) waiting.push(connection);
      else socket.destroy();
      return;
    }
    lastId += 1;
    const id = lastId;
    sent.set(id, { ...connection, to });
    const message: ToProcess = { kind: 'connection', port, id, isUsed };
    // Kept open here until the process has accepted it, so that none is lost with a process that is killed before.
    to.send(message, socket, { keepOpen: true }, (error) => {
      // By the next iteration it is known whether that process has ended.
      if (error) setImmediate(settle, id, false);
    });
  }

  /** Round robin over those with the fewest connections that they have not accepted yet. */
  function choose(port: PortName): ChildProcess | undefined {
    const able = candidates(port);
    if (able.length < 2) return able[0];
    const load = new Map(able.map((child) => [child, 0]));
    for (const { to } of sent.values()) {
      const own = load.get(to);
      if (own !== undefined) load.set(to, own + 1);
    }
    const least = Math.min(...load.values());
    const free = able.filter((child) => load.get(child) === least);
    return free[lastId % free.length];
  }

  function settle(id: number, ok: boolean): void {
    const connection = sent.get(id);
    if (!connection) return;
    sent.delete(id);
    if (ok) connection.socket.destroy();
    else pass(connection);
  }

  function listen(port: PortName, place: Place): Promise<string> {
    const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
      // A client that has gone is found by the process that gets its connection.
      socket.on('error', () => undefined);
      pass({ port, socket, isUsed: false });
    });
    const url = bind(server, place).catch((error) => {
      opened.delete(port);
      throw error;
    });
    opened.set(port, { server, url });
    return url;
  }

  return {
    /** Listens, once, for a process, and sends it the url, or why it cannot; gives the url. */
    async open(child: ChildProcess, port: PortName, place: Place): Promise<string | undefined> {
      try {
        const url = await (opened.get(port)?.url ?? listen(port, place));
        sendTo(child, { kind: 'listening', port, url });
        return url;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        sendTo(child, { kind: 'refused', port, error: { code, message } });
        return undefined;
      }
    },
    /** Passes on the connections that wait. To be called when another process may accept some. */
    flush(): void {
      const all = waiting;
      waiting = [];
      all.forEach(pass);
    },
    /** A process has accepted a connection, or declined it. */
    accepted: settle,
    /** A process has ended: connections that it has not accepted go to another one. */
    lost(child: ChildProcess): void {
      for (const [id, { to }] of [...sent]) if (to === child) settle(id, false);
    },
    /** Passes on an idle connection that a process has returned. */
    returned(port: PortName, socket: Socket): void {
      socket.on('error', () => undefined);
      // Node reads a received socket at once, and what is read here is lost. `pause` prevents that only on a socket of an HTTP server,
      // after the server's own `resume`.
      pausing ??= createHttpServer();
      pausing.emit('connection', socket);
      process.nextTick(() => {
        socket.pause();
        pass({ port, socket, isUsed: true });
      });
    },
    close(port: PortName): void {
      opened.get(port)?.server.close();
      opened.delete(port);
      for (const { socket } of waiting.filter((each) => each.port === port)) socket.destroy();
      waiting = waiting.filter((each) => each.port !== port);
    },
  };
}

async function bind(server: Server, { host, port }: Place): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening');
  const { address, family, port: bound } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`;
}
