import { database as databaseStore, StoreError } from '../../../gateway/database/store-error.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import type { FoundSecret } from '../../../gateway/keys/model.js';
import { newKey, newTenant } from '../../../gateway/keys/model.js';
import type { KeyStore } from '../../../gateway/keys/store.js';
import { createKeyVerifier } from '../../../gateway/keys/verifier.js';
import { createSqliteDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { rejection } from './key-store-contract.js';
import { compileRecipe } from './recipe-compiler.js';

/** A store whose reads can be made to fail, to hang before they read, or to deliver late what they have read. */
function createFaultyStore(store: KeyStore) {
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
    /** Look-ups so far, by hash and by id. */
    reads: () => reads,
    fail(value: boolean): void {
      failing = value;
    },
    /** Look-ups alone. */
    failLookups(value: boolean): void {
      failingLookups = value;
    },
    /** Look-ups wait before they read; returns the way to let them go. */
    hold(): () => void {
      const { promise, resolve } = gate();
      before = promise;
      return resolve;
    },
    /** Look-ups read and then delay the answer. */
    holdAnswers(): () => void {
      const { promise, resolve } = gate();
      after = promise;
      ({ promise: held, resolve: markHeld } = gate());
      return resolve;
    },
    /** Until an answer is delayed. */
    held: () => held,
    /** Makes the change log look like another database's. */
    replaceHistory(): void {
      shift = 1;
    },
    find: (hashes: string[]) => lookUp(() => store.find(hashes)),
    findKeys: (ids: string[]) => lookUp(() => store.findKeys(ids)),
    async lastChange() {
      guard();
      return store.lastChange();
    },
    async changesFrom(id: number, limit: number) {
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

/** What a look-up finds of a key without any setting. */
export function foundSecret(tenant: string, { id, hash }: { id: string; hash: string }): FoundSecret {
  return {
    tenant: { id: tenant, name: tenant, created_at: 1, ...newTenant },
    key: { id, tenant_id: tenant, label: null, scopes: null, ...newKey, created_at: 1, expires_at: null },
    secret: { hash, expires_at: null, ended_at: null },
  };
}

export const startTime = Date.UTC(2030, 0, 1);

export type VerifierWorld = Awaited<ReturnType<typeof createVerifierWorld>>;

/** A verifier with clocks (`wall`, `elapsed`) and a database that tests move and break; the tenant `acme` is there. */
export async function createVerifierWorld() {
  const database = await createSqliteDatabase();
  const store = createFaultyStore(await database.open());
  const clock = { wall: startTime, elapsed: 0 };
  const now = () => clock.wall;
  const services = () => ['text/a'];
  /** `down` and `up`, as they were reported. */
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
  const world = Object.assign(clock, {
    database,
    store,
    admin: createKeyAdmin({ store, signing, compileRecipe, services, now }),
    /** Another process's. */
    elsewhere: createKeyAdmin({ store: await database.open(), signing, compileRecipe, services, now }),
    verifier,
    log,
    state: async (key: string) => (await verifier.verify(key)).state,
    /** The code of the error that the verification ends with. */
    failure: async (key: string) => ((await rejection(verifier.verify(key))) as { code: string }).code,
    /** Lets time pass, with a poll after each second as in life. */
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
