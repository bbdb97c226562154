import { join } from 'node:path';
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
