import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

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
  schemaOf,
  type TestDatabase,
} from '../databases.js';
import { rejection } from '../keys/key-store-contract.js';
import { signing } from '../signing/signing.js';

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
      const tables = Array.from(
        { length: 20 },
        (_, at) => `create table ${schema}.t${at} (id serial, name text)`,
      );
      while (busy) {
        // Apart, or nobody would ever see the tables.
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
    const line = await createLine(new URL(database.location));
    const lost: Error[] = [];
    const store = await openStore(
      { kind: 'postgres', location: line.url },
      { onConnectionLost: (error) => lost.push(error) },
    );
    const admin = createKeyAdmin({ store, signing, services: () => [] });
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
      // All of this is known before the key is read: a poll that tells of it later would have the key read again, into the cut.
      // Twice, for one poll may be under way that began before.
      await verifier.refresh();
      await verifier.refresh();
      expect(await verifier.verify(key)).to.include({ state: 'active' });

      await line.cut();
      await until(() => log.includes('down'));
      expect(await verifier.verify(key)).to.include({ state: 'active' });
      expect(await rejection(verifier.verify(createKey()))).to.include({ code: 'keys_unavailable' });
      expect(await rejection(admin.revokeKey(id, 'ann'))).to.include({ code: 'keys_unavailable' });

      const elsewhere = createKeyAdmin({ store: await database.open(), signing, services: () => [] });
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

  it('lets nobody rewrite the audit log', async () => {
    await database.open();
    const schema = schemaOf(database.location);
    for (const statement of ['delete from', 'truncate']) {
      const error = await rejection(onPostgres(`${statement} ${schema}.audit`));
      expect(error).to.have.property('message').that.includes('only added to');
    }
  });

  it('keeps the tables of two schemas of one database apart', async () => {
    const other = await createPostgresDatabase();
    const stores = await Promise.all([database.open(), other.open()]);
    for (const store of stores) {
      await createKeyAdmin({ store, signing, services: () => [] }).createTenant('acme', 'ann');
    }
    await other.drop();
  });
});

/** A TCP line to the server that can be cut and mended. */
async function createLine(
  target: URL,
): Promise<{ url: string; cut(): Promise<void>; mend(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;

  async function mend(): Promise<void> {
    server = createServer((near) => {
      const far = connect(Number(target.port || 5432), target.hostname);
      for (const socket of [near, far]) {
        sockets.add(socket);
        socket.on('error', () => {}).on('close', () => sockets.delete(socket));
      }
      near.pipe(far).pipe(near);
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }

  async function cut(): Promise<void> {
    server?.close();
    for (const socket of sockets) socket.destroy();
    await sleep(20);
  }

  await mend();
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return { url: url.href, cut, mend };
}
