import { expect } from 'chai';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createKey } from '../../../gateway/keys/model.js';
import { createKeyVerifier } from '../../../gateway/keys/verifier.js';
import { until } from '../../needs.js';
import {
  createPostgresDatabase,
  onPostgres,
  openStore,
  requirePostgres,
  type TestDatabase,
} from '../databases.js';
import { rejection } from '../keys/key-store-contract.js';
import { compileRecipe } from '../keys/recipe-compiler.js';
import { signing } from '../signing/signing.js';
import { createLine } from './line.js';

describe('database/postgres', () => {
  let database: TestDatabase;
  before(requirePostgres);
  beforeEach(async () => {
    database = await createPostgresDatabase();
  });
  afterEach(() => database?.drop());

  it('opens while another program makes and drops tables in the same database', async () => {
    let busy = true;
    const neighbours = [1, 2].map(async (number) => {
      const schema = `neighbour_${number}_${Math.random().toString(36).slice(2)}`;
      const create = (_: unknown, at: number) => `create table ${schema}.t${at} (id serial, name text)`;
      const tables = Array.from({ length: 20 }, create);
      while (busy) {
        // Apart, or the tables would never be seen.
        await onPostgres(`create schema ${schema}; ${tables.join('; ')}`);
        await onPostgres(`drop schema ${schema} cascade`);
      }
    });
    try {
      for (let start = 0; start < 20; start += 1) await (await database.connect()).close();
    } finally {
      busy = false;
      await Promise.all(neighbours);
    }
  }).timeout(30_000);

  it('outlives the server’s going away and coming back', async () => {
    const line = await createLine(database.location);
    const lost: Error[] = [];
    const store = await openStore(
      { kind: 'postgres', location: line.url },
      { onConnectionLost: (error) => lost.push(error) },
    );
    const admin = createKeyAdmin({ store, signing, compileRecipe, services: () => [] });
    const log: string[] = [];
    const verifier = createKeyVerifier({
      store,
      pollInterval: 20,
      onDown: () => log.push('down'),
      onUp: () => log.push('up'),
    });
    try {
      await admin.createTenant('acme', 'ann');
      const { id, key } = await admin.issueKey('acme', {}, 'ann');
      // All of this is known before the key is read: a poll that finds it later would have the key read again, into the cut.
      // Twice, for one poll may be under way that began before.
      await verifier.refresh();
      await verifier.refresh();
      expect(await verifier.verify(key)).to.include({ state: 'active' });

      await line.cut();
      await until(() => log.includes('down'));
      expect(await verifier.verify(key)).to.include({ state: 'active' });
      expect(await rejection(verifier.verify(createKey()))).to.include({ code: 'keys_unavailable' });
      expect(await rejection(admin.revokeKey(id, 'ann'))).to.include({ code: 'keys_unavailable' });

      const elsewhere = createKeyAdmin({
        store: await database.open(),
        signing,
        compileRecipe,
        services: () => [],
      });
      await elsewhere.revokeKey(id, 'bob');
      await line.mend();
      await until(async () => (await verifier.verify(key)).state === 'revoked');
      expect(log).to.deep.equal(['down', 'up']);
      expect(lost.length).to.be.greaterThan(0);
    } finally {
      await verifier.close();
      await store.close();
      await line.cut();
    }
  });

  it('says in one line why it cannot be used, without the password', async () => {
    const wrong = new URL(database.location);
    wrong.port = '1';
    wrong.password = 'hunter2';
    const error = (await rejection(openStore({ kind: 'postgres', location: wrong.href }))) as Error;
    expect(error.message).to.match(/^The PostgreSQL database cannot be used: .*ECONNREFUSED.*$/);
    expect(error.message).not.to.include('hunter2');
  });

  it('keeps the tables of two schemas of one database apart', async () => {
    const other = await createPostgresDatabase();
    const stores = await Promise.all([database.open(), other.open()]);
    for (const store of stores) {
      await createKeyAdmin({ store, signing, compileRecipe, services: () => [] }).createTenant('acme', 'ann');
    }
    await other.drop();
  });
});
