import { setImmediate } from 'node:timers/promises';
import { type Connection, loadUndici, openConnection } from './connection.js';
import type { Dial } from './dial.js';
import { type Answer, type ExchangeOptions, exchange } from './exchange.js';
import type { Judge } from './judge.js';
import type { Kept } from './kept.js';
import type { Target } from './url.js';

export interface HopParts {
  judge: Judge;
  dial: Dial;
  kept: Kept;
}

/** One request of a download, for a tenant or, when nothing is to be kept, for nobody. */
export type Hop = (target: Target, tenant: string | undefined, options: ExchangeOptions) => Promise<Answer>;

/**
 * Every request is judged alike; only then is a connection looked for that the same tenant has left open to the same origin,
 * at an address that was judged just now, or else a new one opened.
 */
export function createHop({ judge, dial, kept }: HopParts): Hop {
  return async function hop(target, tenant, options) {
    const { signal } = options;
    const { url } = target;
    const owner = tenant === undefined ? undefined : { tenant, origin: url.origin };
    const addresses = await judge(target, signal);
    const left = owner && kept.take(owner, addresses);
    if (!left) return request(await open());
    // What the server has sent unasked may not have been read yet, and would pass for the answer. The client waits for the end
    // of this turn of the event loop before it writes; only in the one after will all sockets have been read.
    await setImmediate();
    try {
      return await request(left);
    } catch (error) {
      // A server may close what waits at any time, also while the request is on its way: a GET without a byte of an answer is
      // sent again, once, over a new connection.
      if (signal.aborted || left.socket.bytesRead > left.readBefore) throw error;
      return request(await open());
    }

    async function open(): Promise<Connection> {
      // Before there is a socket, which would be left open where this fails.
      const undici = await loadUndici();
      return openConnection(await dial(addresses, target, { owner, signal }), url.origin, undici);
    }

    async function request(connection: Connection): Promise<Answer> {
      const answer = await exchange(connection, url, { ...options, keep: owner !== undefined });
      if (owner) kept.give(owner, connection);
      return answer;
    }
  };
}
