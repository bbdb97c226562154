import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { createKeyVerifier, type KeyVerifier } from '../../../gateway/keys/verifier.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { createFaultyStore, type FaultyStore } from './faulty-store.js';
import { rejection } from './key-store-contract.js';

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
