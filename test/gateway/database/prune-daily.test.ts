import { expect } from 'chai';
import type { Access, NoTables } from '../../../gateway/database/access.js';
import { DatabaseError } from '../../../gateway/database/database-error.js';
import { pruneDaily } from '../../../gateway/database/prune-daily.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { createQuietLog } from '../usage/quiet.js';

describe('database/prune-daily', () => {
  let files: TestDatabase;
  beforeEach(async () => {
    files = await createSqliteDatabase();
  });
  afterEach(() => files.drop());

  it('runs every part at the start, with the time', async () => {
    const times: number[] = [];
    const part = async (_: unknown, now: number) => void times.push(now);
    const access = (await files.connect()).access();
    const logger = createQuietLog();
    await pruneDaily({ access, logger, parts: [part, part] }).close();
    expect(times).to.have.length(2);
    expect(Date.now() - (times[0] ?? 0)).to.be.within(0, 5_000);
    expect(logger.lines).to.deep.equal([]);
  });

  it('says that it could not, and throws nothing', async () => {
    const gone = () => Promise.reject(new DatabaseError(new Error('gone')));
    const access: Access<NoTables> = { kind: 'sqlite', run: gone, change: gone };
    const logger = createQuietLog();
    await pruneDaily({ access, logger, parts: [] }).close();
    expect(logger.lines.map((line) => line.level)).to.deep.equal(['warn']);
  });
});
