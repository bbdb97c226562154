import { database as databaseStore, StoreError } from '../../../gateway/database/store-error.js';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import type { KeyStore } from '../../../gateway/keys/store.js';
import { createKeyVerifier, type KeyVerifier } from '../../../gateway/keys/verifier.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { rejection } from './key-store-contract.js';

/** A store whose reads can be made to fail, to hang before they read, or to deliver late what they have read. */
interface FaultyStore extends KeyStore {
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

function createFaultyStore(store: KeyStore): FaultyStore {
  let reads = 0;
  let failing = false;
  let failingLookups = false;
  let shift = 0;
  let before: Promise<void> | undefined;
  let after: Promise<void> | undefined;
  let markHeld: () => void = () => {};
  let held = Promise.resolve();

  function guard(broken = failing): void {
    if (broken) throw new StoreError(databaseStore, new Error('connect ECONNREFUSED'));
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

export const startTime = Date.UTC(2030, 0, 1);

/** A verifier with clocks and a database that the tests move and break; the tenant `acme` is there. */
export interface VerifierWorld {
  database: TestDatabase;
  store: FaultyStore;
  admin: KeyAdmin;
  /** Another process's. */
  elsewhere: KeyAdmin;
  verifier: KeyVerifier;
  /** Wall clock, ms. */
  wall: number;
  /** Monotonic clock, ms. */
  elapsed: number;
  /** `down` and `up`, as they were told. */
  log: string[];
  state(key: string): Promise<string>;
  /** The code of the error that the verification ends with. */
  failure(key: string): Promise<string>;
  /** Lets time pass, with a poll after each second as in life. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

export async function createVerifierWorld(): Promise<VerifierWorld> {
  const database = await createSqliteDatabase();
  const store = createFaultyStore(await database.open());
  const clock = { wall: startTime, elapsed: 0 };
  const now = () => clock.wall;
  const services = () => ['text/a'];
  const log: string[] = [];
  const verifier = createKeyVerifier({
    store,
    now,
    monotonic: () => clock.elapsed,
    // Polls come when the tests say so.
    pollInterval: 2 ** 30,
    lastUsedInterval: 2 ** 30,
    onDown: () => log.push('down'),
    onUp: () => log.push('up'),
  });
  const world: VerifierWorld = Object.assign(clock, {
    database,
    store,
    admin: createKeyAdmin({ store, signing, services, now }),
    elsewhere: createKeyAdmin({ store: await database.open(), signing, services, now }),
    verifier,
    log,
    state: async (key: string) => (await verifier.verify(key)).state,
    failure: async (key: string) => ((await rejection(verifier.verify(key))) as { code: string }).code,
    async pass(ms: number) {
      for (let rest = ms; rest > 0; rest -= 1000) {
        clock.wall += Math.min(rest, 1000);
        clock.elapsed += Math.min(rest, 1000);
        await verifier.refresh();
      }
    },
    async close() {
      await verifier.close();
      await database.drop();
    },
  });
  await world.admin.createTenant('acme', 'ann');
  await verifier.refresh();
  return world;
}
