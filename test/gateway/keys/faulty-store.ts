import { DatabaseError } from '../../../gateway/database/database-error.js';
import type { KeyStore } from '../../../gateway/keys/store.js';

/** A store whose reads can be made to fail, to hang before they read, or to deliver late what they have read. */
export interface FaultyStore extends KeyStore {
  /** Look-ups so far, by hash and by id. */
  reads(): number;
  fail(failing: boolean): void;
  /** Look-ups alone. */
  failLookups(failing: boolean): void;
  /** Look-ups wait before they read; returns the way to let them go. */
  hold(): () => void;
  /** Look-ups read and then keep the answer back. */
  holdAnswers(): () => void;
  /** Until an answer is kept back. */
  held(): Promise<void>;
  /** Makes the change log look like another database's. */
  replaceHistory(): void;
}

export function createFaultyStore(store: KeyStore): FaultyStore {
  let reads = 0;
  let failing = false;
  let failingLookups = false;
  let shift = 0;
  let before: Promise<void> | undefined;
  let after: Promise<void> | undefined;
  let markHeld: () => void = () => {};
  let held = Promise.resolve();

  function guard(broken = failing): void {
    if (broken) throw new DatabaseError(new Error('connect ECONNREFUSED'));
  }

  async function lookUp<T>(read: () => Promise<T>): Promise<T> {
    reads += 1;
    guard(failing || failingLookups);
    await before;
    const found = await read();
    const late = after;
    after = undefined;
    if (late) markHeld();
    await late;
    return found;
  }

  return {
    ...store,
    reads: () => reads,
    fail(value) {
      failing = value;
    },
    failLookups(value) {
      failingLookups = value;
    },
    hold() {
      const { promise, resolve } = gate();
      before = promise;
      return resolve;
    },
    holdAnswers() {
      const { promise, resolve } = gate();
      after = promise;
      ({ promise: held, resolve: markHeld } = gate());
      return resolve;
    },
    held: () => held,
    replaceHistory() {
      shift = 1;
    },
    find: (hashes) => lookUp(() => store.find(hashes)),
    findKeys: (ids) => lookUp(() => store.findKeys(ids)),
    async lastChange() {
      guard();
      return store.lastChange();
    },
    async changesFrom(id, limit) {
      guard();
      return (await store.changesFrom(id, limit)).map((change) => ({ ...change, at: change.at + shift }));
    },
  };
}

function gate(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((yes) => {
    resolve = yes;
  });
  return { promise, resolve };
}
