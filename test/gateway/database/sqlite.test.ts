import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import Database from 'libsql';
import { connectThread } from '../../../gateway/database/sqlite.js';
import { openConnection } from '../../../gateway/database/sqlite-connection.js';
import { until } from '../../needs.js';
import { connect, createSqliteDatabase, type TestDatabase } from '../databases.js';
import { rejection } from '../keys/key-store-contract.js';

const entry = { at: 1, actor: 'a', action: 'key.issue', tenant_id: null, key_id: null, detail: {} } as const;

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
      await tx.audit(entry);
      for (const name of readdirSync(database.location)) seen.add(name);
    });
    expect([...seen].sort()).to.deep.equal(['gateway.db', 'gateway.db-journal']);
    // The journal stays, since to make one and to remove it costs each commit a wait for the disk; its header is gone.
    const journal = readFileSync(`${file}-journal`);
    expect(journal.subarray(0, 8)).to.deep.equal(Buffer.alloc(8));
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
      const reads = Promise.all(Array.from({ length: 20 }, () => store.tenant('acme')));
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

  it('says which file or folder cannot be opened, and why', async () => {
    await (await database.open()).close();
    const inFile = await rejection(connect({ kind: 'sqlite', location: file }));
    expect(inFile).to.have.property('message').that.includes(`${file}/gateway.db cannot be opened: `);
    writeFileSync(file, 'not a database, but something else of more than a hundred bytes. '.repeat(4));
    const error = await rejection(connect(database));
    expect(error).to.have.property('message').that.includes(file).and.includes('not a database');
  });
});

const select = (sql: string, ...parameters: unknown[]) => ({ sql, parameters, reads: true });
const change = (sql: string, ...parameters: unknown[]) => ({ sql, parameters, reads: false });

for (const [name, open] of [
  ['on the thread that opens it', openConnection],
  ['on a thread of its own', connectThread],
] as const) {
  describe(`database/sqlite-connection, ${name}`, () => {
    let files: TestDatabase;
    let connection: ReturnType<typeof open>;
    beforeEach(async () => {
      files = await createSqliteDatabase();
      await (await files.connect()).close();
      connection = open(join(files.location, 'gateway.db'));
      await connection.exec('create table things (id integer primary key, name text unique)');
    });
    afterEach(async () => {
      await connection.close();
      await files.drop();
    });

    it('answers in the order in which it is asked, with what was written and read', async () => {
      const inserting = connection.query(change('insert into things (name) values (?), (?)', 'a', 'Zoë'));
      const found = await connection.query(select('select name, id from things order by id'));
      expect(await inserting).to.deep.equal({ rows: [], numAffectedRows: 2n, insertId: 2n });
      const rows = found.rows.map((row) => ({ ...(row as object) }));
      expect(rows).to.deep.equal(['a', 'Zoë'].map((name, at) => ({ name, id: at + 1 })));
    });

    it('reports what went wrong by its code', async () => {
      await connection.query(change('insert into things (name) values (?)', 'a'));
      const error = await rejection(connection.query(change('insert into things (name) values (?)', 'a')));
      expect(error).to.be.instanceOf(Error).and.have.property('code').that.includes('SQLITE_CONSTRAINT');
      await connection.query(change('insert into things (name) values (?)', 'b'));
    });

    it('takes back what a transaction did', async () => {
      await connection.exec('begin immediate');
      await connection.query(change('insert into things (name) values (?)', 'a'));
      await connection.rollback();
      await connection.rollback();
      expect((await connection.query(select('select * from things'))).rows).to.deep.equal([]);
    });

    it('refuses what is asked after it is closed, also what it could not begin any more', async () => {
      const early = connection.query(select('select 1 as one'));
      const closing = connection.close();
      const late = rejection(connection.query(select('select 1 as one')));
      expect((await early).rows).to.have.length(1);
      await closing;
      expect(await late).to.be.instanceOf(Error);
      expect(await rejection(connection.exec('begin'))).to.be.instanceOf(Error);
      await connection.rollback().catch(() => {});
      await connection.close();
    });
  });
}

describe('database/thread-connection', () => {
  let files: TestDatabase;
  let threads: Worker[];
  let lost: Error[];
  let connection: ReturnType<typeof connectThread>;
  const newest = () => threads.at(-1) as Worker;
  const note = (worker: Worker) => void threads.push(worker);

  beforeEach(async () => {
    files = await createSqliteDatabase();
    await (await files.connect()).close();
    [threads, lost] = [[], []];
    process.on('worker', note);
    connection = connectThread(join(files.location, 'gateway.db'), (error) => lost.push(error));
    await connection.exec('create table things (name text)');
  });
  afterEach(async () => {
    process.off('worker', note);
    await connection.close();
    await files.drop();
  });

  /** What is no question makes it fail. */
  async function fail(thread = newest()): Promise<void> {
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    thread.postMessage(null);
    await ended;
  }
  async function names() {
    const { rows } = await connection.query(select('select name from things order by name'));
    return rows.map((row) => (row as { name: string }).name);
  }

  it('fails what it was asked when its thread fails, and answers on another, set up as the first', async () => {
    const ended = fail();
    const asked = rejection(connection.query(select('select 1 as one')));
    expect(await asked).to.have.property('cause', lost[0]);
    await ended;
    await connection.query(change('insert into things values (?)', 'a'));
    expect(await names()).to.deep.equal(['a']);
    expect((await connection.query(select('pragma foreign_keys'))).rows).to.deep.equal([{ foreign_keys: 1 }]);
    expect([threads.length, lost.length]).to.deep.equal([2, 1]);
  });

  it('loses a transaction whole with its thread', async () => {
    await connection.exec('begin immediate');
    await connection.query(change('insert into things values (?)', 'a'));
    await fail();
    expect(await rejection(connection.query(change('insert into things values (?)', 'b')))).to.be.an('error');
    expect(await rejection(connection.exec('commit'))).to.be.an('error');
    await connection.rollback();
    expect(await names()).to.deep.equal([]);
    await connection.query(change('insert into things values (?)', 'c'));
    expect(await names()).to.deep.equal(['c']);
  });

  for (const when of ['after', 'while'])
    it(`closes ${when} its thread fails, and starts no other then`, async () => {
      const failed = fail();
      if (when === 'after') await failed;
      await connection.close();
      await failed;
      expect(await rejection(connection.query(select('select 1 as one')))).to.be.an('error');
      expect(threads).to.have.length(1);
    });
});
