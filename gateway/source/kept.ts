import { type Connection, closeConnection } from './connection.js';
import type { Owner } from './owner.js';

/** Connections without a request, for a tenant's next download from the same origin. */
export interface Kept {
  /** Hands out one of `owner` that leads to one of `addresses`, which are those judged for this very request. */
  take(owner: Owner, addresses: readonly string[]): Connection | undefined;
  /** Keeps a connection whose answer has come whole; closes it if it is too old, and the oldest where there is no room. */
  give(owner: Owner, connection: Connection): void;
  /** Closes all, and whatever is given from now on. */
  close(): void;
}

interface Entry extends Owner {
  connection: Connection;
}

/** In whole: each costs a file descriptor, and some tens of KB where it is TLS. */
const most = 128;
const mostOfTenant = 16;
/** The certificate is checked when a connection is opened, so none serves for long. */
const oldestMs = 60_000;

/**
 * A connection is never shared between tenants: who asks a source of his own whether a connection was there would
 * learn what another downloads. `now` in milliseconds is for tests.
 */
export function createKept(now: () => number = () => performance.now()): Kept {
  /** The oldest first. Few enough to be looked through. */
  let idle: Entry[] = [];
  let closed = false;

  function removeAt(index: number): void {
    for (const { connection } of idle.splice(index, 1)) closeConnection(connection);
  }

  return {
    take({ tenant, origin }, addresses) {
      const index = idle.findLastIndex(
        (entry) =>
          entry.tenant === tenant &&
          entry.origin === origin &&
          addresses.includes(entry.connection.address) &&
          !entry.connection.socket.destroyed,
      );
      return index < 0 ? undefined : idle.splice(index, 1)[0]?.connection;
    },
    give({ tenant, origin }, connection) {
      const { socket, openedAt } = connection;
      if (closed || socket.destroyed || now() - openedAt > oldestMs) return closeConnection(connection);
      idle = idle.filter((entry) => !entry.connection.socket.destroyed);
      idle.push({ tenant, origin, connection });
      const own = idle.filter((entry) => entry.tenant === tenant);
      if (own.length > mostOfTenant) removeAt(idle.indexOf(own[0] as Entry));
      else if (idle.length > most) removeAt(0);
    },
    close() {
      closed = true;
      while (idle.length > 0) removeAt(0);
    },
  };
}
