import type { TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { Owner } from './owner.js';

/** What a server gave to shorten the next handshake. */
export interface Session {
  /** As Node's `session` event gives it and `tls.connect` takes it. */
  ticket: Buffer;
  /** When the certificate was checked, by `performance.now()`. */
  checkedAt: number;
}

/** TLS sessions that may be resumed, by tenant and origin. */
export interface Sessions {
  find(owner: Owner): Session | undefined;
  /** Remembers what the server gives on `socket`, a handshake in which `offered` was offered, once it is authorized. */
  watch(owner: Owner, socket: TLSSocket, offered: Session | undefined): void;
}

const most = 1000;
const mostBytes = 4 * 1024 * 1024;
/** One holds the server's certificate, and a ticket that the server may make as long as 64 KB. */
const mostBytesOfOne = 16 * 1024;
/** A resumed handshake shows no certificate and checks no name, so it must rest on one that did, not long ago. */
const lifeMs = 5 * 60_000;

/**
 * A session resumes only where the server still knows its secret; everywhere else the handshake is a whole one. It spares the
 * certificate's checks, half of what a connection costs, and never the judgement of the address. Per tenant, because whoever
 * offers a session says that he has been there before.
 */
export function createSessions(): Sessions {
  const sessions = new LRUCache<string, Session>({
    max: most,
    maxSize: mostBytes,
    maxEntrySize: mostBytesOfOne,
    sizeCalculation: ({ ticket }) => ticket.length,
    ttl: lifeMs,
  });

  return {
    find: (owner) => sessions.get(keyOf(owner)),
    watch(owner, socket, offered) {
      let ticket: Buffer | undefined;
      let checkedAt: number | undefined;
      const keep = () => {
        if (!ticket || checkedAt === undefined) return;
        // A session that came of a resumed one lives no longer than that.
        sessions.set(keyOf(owner), { ticket, checkedAt }, { start: checkedAt });
      };
      // TLS 1.2 brings it before the certificate's name has been checked, TLS 1.3 any time after.
      socket.on('session', (given) => {
        ticket = given;
        keep();
      });
      socket.once('secureConnect', () => {
        checkedAt = offered && socket.isSessionReused() ? offered.checkedAt : performance.now();
        keep();
      });
    },
  };
}

function keyOf({ tenant, origin }: Owner): string {
  return `${origin} ${tenant}`;
}
