import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { openConnection } from '../../../gateway/database/sqlite-connection.js';
import { connectThread } from '../../../gateway/database/thread-connection.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { rejection } from '../keys/key-store-contract.js';

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
      const [inserted, found] = await Promise.all([
        connection.query(change('insert into things (name) values (?), (?)', 'a', 'Zoë')),
        connection.query(select('select * from things order by id')),
      ]);
      expect(inserted).to.deep.equal({ rows: [], numAffectedRows: 2n, insertId: 2n });
      expect(found.rows.map((row) => ({ ...(row as object) }))).to.deep.equal([
        { id: 1, name: 'a' },
        { id: 2, name: 'Zoë' },
      ]);
    });

    it('tells what went wrong by its code', async () => {
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
  const names = async () =>
    (await connection.query(select('select name from things order by name'))).rows.map(
      (row) => (row as { name: string }).name,
    );

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

  it('closes also after its thread has failed, and starts no other then', async () => {
    await fail();
    await connection.close();
    expect(await rejection(connection.query(select('select 1 as one')))).to.be.an('error');
    expect(threads).to.have.length(1);
  });

  it('closes while its thread fails', async () => {
    const ended = fail();
    await connection.close();
    await ended;
  });
});
