import type { ChildProcess } from 'node:child_process';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tellMember } from './exchange.js';
import type { Door, ToMember } from './messages.js';

/** The ports of a host: whoever serves there gets each connection from here, and while nobody does, they wait. */
export interface Doors {
  /** Listens, once; gives the url to reach it at. */
  open(door: Door, place: { host: string; port: number }): Promise<string>;
  /** The url, once it is open. */
  url(door: Door): string | undefined;
  /** Passes on the connections that wait. To be called when another process may take some. */
  flush(): void;
  /** A process says that it has taken a connection, or that it takes no more. */
  accepted(id: number, ok: boolean): void;
  /** A process has gone: those that it has not taken are another's. */
  lost(child: ChildProcess): void;
  /** Passes on a connection that a process has given back, on which nothing is asked. */
  takeBack(door: Door, socket: Socket): void;
  /** Listens no more. */
  close(door: Door): void;
}

/** A connection on its way to a process. */
interface Passage {
  door: Door;
  socket: Socket;
  /** Something was asked on it before, of another process. */
  isUsed: boolean;
  to?: ChildProcess;
}

/** Connections that wait for a process; those past them are closed. */
const mostWaiting = 10_000;

/** `candidates` gives the processes that take connections of a port now. */
export function createDoors(candidates: (door: Door) => ChildProcess[]): Doors {
  const opened = new Map<Door, { server: Server; url: Promise<string>; known?: string }>();
  const passing = new Map<number, Passage>();
  let waiting: Passage[] = [];
  let lastId = 0;
  let holder: HttpServer | undefined;

  function pass({ door, socket, isUsed }: Passage): void {
    // Its client has not waited.
    if (socket.destroyed) return;
    const to = choose(door);
    if (!to) {
      // One that a process declines may come back after its port was closed.
      if (opened.has(door) && waiting.length < mostWaiting) waiting.push({ door, socket, isUsed });
      else socket.destroy();
      return;
    }
    lastId += 1;
    const id = lastId;
    passing.set(id, { door, socket, isUsed, to });
    const message: ToMember = { kind: 'connection', door, id, isUsed };
    // It stays open here until the process says that it has come there: with one that is killed before, none is lost.
    to.send(message, socket, { keepOpen: true }, (error) => {
      // By then it is known whether that process has gone.
      if (error) setImmediate(settle, id, false);
    });
  }

  /** In turn, and past those that have not taken their last ones. */
  function choose(door: Door): ChildProcess | undefined {
    const able = candidates(door);
    if (able.length < 2) return able[0];
    const load = new Map(able.map((child) => [child, 0]));
    for (const { to } of passing.values()) {
      const own = to && load.get(to);
      if (to && own !== undefined) load.set(to, own + 1);
    }
    const least = Math.min(...load.values());
    const free = able.filter((child) => load.get(child) === least);
    return free[lastId % free.length];
  }

  function settle(id: number, ok: boolean): void {
    const passage = passing.get(id);
    if (!passage) return;
    passing.delete(id);
    if (ok) passage.socket.destroy();
    else pass(passage);
  }

  function flush(): void {
    const all = waiting;
    waiting = [];
    all.forEach(pass);
  }

  function listen(door: Door, { host, port }: { host: string; port: number }) {
    const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
      // Of a client that has gone the process is told that gets it.
      socket.on('error', () => undefined);
      pass({ door, socket, isUsed: false });
    });
    const url = new Promise<string>((resolve, reject) => {
      server.once('error', (error) => {
        opened.delete(door);
        reject(error);
      });
      server.listen(port, host, () => {
        server.removeAllListeners('error');
        const { address, family, port: bound } = server.address() as AddressInfo;
        resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
      });
    });
    const entry: { server: Server; url: Promise<string>; known?: string } = { server, url };
    opened.set(door, entry);
    url.then(
      (known) => {
        entry.known = known;
      },
      () => undefined,
    );
    return entry;
  }

  return {
    open: (door, place) => (opened.get(door) ?? listen(door, place)).url,
    url: (door) => opened.get(door)?.known,
    flush,
    accepted: settle,
    lost(child) {
      for (const [id, { to }] of [...passing]) if (to === child) settle(id, false);
    },
    takeBack(door, socket) {
      socket.on('error', () => undefined);
      // Node has it read from the first moment, and what is read here is lost. Its `pause` stops that for an HTTP server's alone, once
      // the server's own `resume` has passed.
      holder ??= createHttpServer();
      holder.emit('connection', socket);
      process.nextTick(() => {
        socket.pause();
        pass({ door, socket, isUsed: true });
      });
    },
    close(door) {
      opened.get(door)?.server.close();
      opened.delete(door);
      for (const { socket } of waiting.filter((each) => each.door === door)) socket.destroy();
      waiting = waiting.filter((each) => each.door !== door);
    },
  };
}

/** Opens a port that a process asks for, and says where it is. */
export async function openFor(
  child: ChildProcess,
  doors: Doors,
  { door, host, port }: { door: Door; host: string; port: number },
): Promise<boolean> {
  try {
    tellMember(child, { kind: 'listening', door, url: await doors.open(door, { host, port }) });
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    tellMember(child, { kind: 'refused', door, error: { code, message } });
    return false;
  }
}
