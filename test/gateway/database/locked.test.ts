import { expect } from 'chai';
import { createFirstOperator } from '../../../gateway/connect/auth/first-operator.js';
import { createPeople } from '../../../gateway/connect/auth/people.js';
import { createSignIn } from '../../../gateway/connect/auth/sign-in.js';
import { createConnectDatabase } from '../../../gateway/connect/database.js';
import { type Database, openDatabase } from '../../../gateway/database/database.js';
import { createKeyStore } from '../../../gateway/keys/sql-store.js';
import { createQuotaLedger } from '../../../gateway/limits/quota-ledger.js';
import { createBatchWriter } from '../../../gateway/usage/batch-writer.js';
import { createUsageMeter } from '../../../gateway/usage/meter.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { createQuietLog } from '../usage/quiet.js';
import { holdLock } from './hold-lock.js';

const LOCKED_MS = 300;
const month = '2026-11';
const call = {
  tenant: 'ten_1',
  key: 'key_1',
  service: 'text/a',
  status: 200,
  bytesIn: 1,
  bytesOut: 1,
  cpuMs: 0,
};

describe('database: while another process holds the lock', () => {
  let files: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    files = await createSqliteDatabase();
    database = await openDatabase({ dataDir: files.location });
  });
  afterEach(async () => {
    await database.close();
    await files.drop();
  });

  function createUsage() {
    const logger = createQuietLog();
    const writer = createBatchWriter({ db: database.db, logger, flushEveryMs: 60_000 });
    const ledger = createQuotaLedger(database.db);
    writer.add(ledger);
    const meter = createUsageMeter({ db: database.db, writer, logger });
    const close = () => Promise.all([meter.close(), writer.close()]);
    return { logger, writer, ledger, meter, close };
  }

  it('reads usage', async () => {
    const { meter, writer, close } = createUsage();
    meter.record(call);
    await writer.flush();
    await holdLock(files.location, LOCKED_MS);
    expect((await meter.usage('ten_1')).rows).to.have.length(1);
    await close();
  });

  it('writes usage and quotas, the first time', async () => {
    const { meter, writer, ledger, logger, close } = createUsage();
    const account = await ledger.open('ten_1', month);
    account.hold();
    account.charge();
    meter.record(call);
    await holdLock(files.location, LOCKED_MS);
    expect(await writer.flush()).to.equal(true);
    expect(logger.lines).to.deep.equal([]);
    expect(account.charged()).to.equal(1);
    await close();
  });

  it('deletes old usage', async () => {
    const first = createUsage();
    first.meter.record({ ...call, at: 0 });
    await first.writer.flush();
    await first.close();
    await holdLock(files.location, LOCKED_MS);
    const { meter, logger, close } = createUsage();
    await close();
    expect((await meter.usage('ten_1')).rows).to.deep.equal([]);
    expect(logger.lines).to.deep.equal([]);
  });

  it('reads what a quota has used', async () => {
    const first = createUsage();
    const account = await first.ledger.open('ten_1', month);
    account.hold();
    account.charge();
    await first.close();
    await holdLock(files.location, LOCKED_MS);
    const { ledger, close } = createUsage();
    // A call waits a quarter of a second at most; the sum is read behind it.
    const opened = await ledger.open('ten_1', month);
    for (let look = 0; look < 500 && opened.used() === 0; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(opened.used()).to.equal(1);
    await close();
  });

  it('reads and changes keys', async () => {
    const store = createKeyStore(database);
    await holdLock(files.location, LOCKED_MS);
    expect(await store.tenants({ limit: 1 })).to.deep.equal([]);
    await holdLock(files.location, LOCKED_MS);
    await store.touch(new Map([['key_1', 1]]));
  });

  it('signs people in, knows them, and reads and changes who may do what', async () => {
    const connect = createConnectDatabase(database.db, database.kind);
    const signIn = await createSignIn({
      database: connect,
      secret: 's'.repeat(43),
      baseUrl: 'http://127.0.0.1:8081',
      secureCookies: false,
      logger: { debug() {} },
    });
    await holdLock(files.location, LOCKED_MS);
    const operator = await createFirstOperator(connect);
    await holdLock(files.location, LOCKED_MS);
    const signed = await signIn.signIn(operator?.email ?? '', operator?.password ?? '');
    expect(signed).to.have.property('cookies');
    await holdLock(files.location, LOCKED_MS);
    const found = await signIn.session(signed?.cookies[0]?.split(';')[0] ?? '');
    const id = found?.session.user.id ?? '';
    const people = createPeople(connect);
    await holdLock(files.location, LOCKED_MS);
    expect((await people.rights(id)).operator).to.equal(true);
    await holdLock(files.location, LOCKED_MS);
    expect(await people.removeOperator(id)).to.equal(false);
  });
});
