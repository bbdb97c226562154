import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import Database from 'libsql';
import { createFirstTenant } from '../../../gateway/keys/first-start.js';
import { until } from '../../until.js';
import { connect, createSqliteDatabase, type TestDatabase } from '../databases.js';
import { rejection } from '../keys/key-store-contract.js';

describe('database/sqlite', () => {
  let database: TestDatabase;
  let file: string;
  beforeEach(async () => {
    database = await createSqliteDatabase();
    file = join(database.location, 'gateway.db');
  });
  afterEach(() => database.drop());

  it('makes the folder and the file for their owner alone', async () => {
    await database.open();
    expect(statSync(database.location).mode & 0o777).to.equal(0o700);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
  });

  it('makes every commit durable, in a rollback journal', async () => {
    const store = await database.open();
    const seen = new Set<string>();
    await store.change(async (tx) => {
      await tx.audit({ at: 1, actor: 'a', action: 'key.issue', tenant_id: null, key_id: null, detail: {} });
      for (const name of readdirSync(database.location)) seen.add(name);
    });
    expect([...seen].sort()).to.deep.equal(['gateway.db', 'gateway.db-journal']);
    // The journal stays, since to make one and to remove it costs each commit a wait for the disk; its header is gone.
    const journal = readFileSync(`${file}-journal`);
    expect(journal.subarray(0, 8)).to.deep.equal(Buffer.alloc(8));
  });

  it('waits for another process without blocking this one, and goes on when it is done', async () => {
    const store = await database.open();
    const other = new Database(file);
    other.exec('begin immediate');
    let waited = 0;
    // Were this process blocked, the lock would stay for good.
    const ticks = setInterval(() => {
      waited += 1;
      if (waited === 10) other.exec('commit');
    }, 1);
    // A busy statement of libsql stays in progress and would make the commits after it fail.
    for (let round = 0; round < 3; round++) {
      await store.change((tx) =>
        tx.audit({
          at: round,
          actor: 'a',
          action: 'key.issue',
          tenant_id: null,
          key_id: null,
          detail: {},
        }),
      );
    }
    clearInterval(ticks);
    other.close();
    expect(await store.changesFrom(0, 10)).to.have.length(3);
    expect(waited).to.be.at.least(10);
  });

  it('waits for a writer when it reads', async () => {
    const store = await database.open();
    const other = new Database(file);
    other.exec('begin exclusive');
    setTimeout(() => other.exec('commit'), 100);
    expect(await store.tenants({ limit: 1 })).to.deep.equal([]);
    other.close();
  });

  it('leaves this process time for others, however many wait', async () => {
    const store = await database.open();
    const other = new Database(file);
    other.exec('begin exclusive');
    const { exec } = Database.prototype;
    /** How often the lock was met, each time for 20 ms, by turn of the event loop. */
    const tries: number[] = [0];
    Database.prototype.exec = function count(sql) {
      if (sql.startsWith('begin')) tries.push((tries.pop() ?? 0) + 1);
      return exec.call(this, sql);
    };
    let waiting = true;
    setImmediate(function turn() {
      tries.push(0);
      if (waiting) setImmediate(turn);
    });
    try {
      const reads = Promise.all(Array.from({ length: 20 }, () => store.tenants({ limit: 1 })));
      await until(() => tries.filter((count) => count > 0).length > 40);
      other.exec('commit');
      expect(await reads).to.have.length(20);
    } finally {
      waiting = false;
      Database.prototype.exec = exec;
    }
    other.close();
    const [first, ...later] = tries.filter((count) => count > 0).slice(0, 40);
    // The first tries come all at once.
    expect(first).to.equal(20);
    expect(Math.max(...later)).to.be.at.most(2);
  });

  it('keeps no lock on the database after a statement that had to wait', async () => {
    const store = await database.open();
    const other = new Database(file);
    for (const work of [() => store.tenants({ limit: 1 }), () => store.touch(new Map([['key_1', 1]]))]) {
      other.exec('begin exclusive');
      setTimeout(() => other.exec('commit'), 100);
      await work();
      other.exec('begin exclusive');
      other.exec('commit');
    }
    other.close();
  });

  it('says which file cannot be opened, and why', async () => {
    await (await database.open()).close();
    writeFileSync(file, 'not a database, but something else of more than a hundred bytes. '.repeat(4));
    const error = await rejection(connect(database));
    expect(error).to.have.property('message').that.includes(file).and.includes('not a database');
  });

  it('says which folder cannot be made', async () => {
    await database.open();
    const error = await rejection(connect({ kind: 'sqlite', location: file }));
    expect(error).to.have.property('message').that.includes(`${file}/gateway.db cannot be opened: `);
  });

  it('lets nobody rewrite the audit log', async () => {
    await createFirstTenant(await database.open());
    const intruder = new Database(file);
    for (const statement of ['delete from audit', "update audit set actor = 'somebody else'"]) {
      expect(() => intruder.exec(statement)).to.throw('only added to');
    }
    intruder.close();
  });
});
