import { expect } from 'chai';
import { DatabaseError } from '../../../gateway/database/database-error.js';
import { GatewayError } from '../../../gateway/errors.js';
import type { KeyTables } from '../../../gateway/keys/tables.js';
import { onEachDatabase } from '../databases.js';
import { rejection } from '../keys/key-store-contract.js';

describe('database/access', () =>
  onEachDatabase((files) => {
    it('tells of a database that does not answer by one error, whose cause says why', async () => {
      const database = await files().connect();
      const access = database.access<KeyTables>();
      await database.close();
      const count = () => access.run((db) => db.selectFrom('keys').select('id').execute());
      const add = () => access.change((trx) => trx.deleteFrom('keys').execute());
      for (const work of [count, add]) {
        const error = (await rejection(work())) as DatabaseError;
        expect(error).to.be.instanceOf(DatabaseError);
        expect(error).to.include({ code: 'keys_unavailable', status: 503, retryAfter: 5 });
        expect(error.message).to.equal('The database of this gateway does not answer at the moment.');
        expect(error.cause).to.be.instanceOf(Error);
      }
    });

    it('leaves bugs and refusals what they are', async () => {
      const access = (await files().connect()).access<KeyTables>();
      for (const thrown of [new TypeError('a bug'), new GatewayError('not_found')]) {
        expect(await rejection(access.run(() => Promise.reject(thrown)))).to.equal(thrown);
        expect(await rejection(access.change(() => Promise.reject(thrown)))).to.equal(thrown);
      }
      const row = { id: 'sec_1', key_id: 'no such key', hash: '', prefix: '', suffix: '', created_at: 1 };
      const orphan = access.run((db) =>
        db
          .insertInto('secrets')
          .values({ ...row, expires_at: null, ended_at: null })
          .execute(),
      );
      expect(await rejection(orphan)).not.to.be.instanceOf(GatewayError);
    });

    it('gives whole numbers as numbers, and not as text', async () => {
      const access = (await files().connect()).access<KeyTables>();
      const limits = { rate: 2.5, burst: null, monthly_quota: Number.MAX_SAFE_INTEGER, in_flight: 1 };
      const rest = { weight: 3, webhook_version: 1, webhook_rotated_at: 1_900_000_000_124 };
      const row = { id: 'ten_1', name: 'acme', created_at: 1_900_000_000_123, ...limits, ...rest };
      await access.run((db) => db.insertInto('tenants').values(row).execute());
      expect(await access.run((db) => db.selectFrom('tenants').selectAll().executeTakeFirst())).to.deep.equal(
        row,
      );
    });
  }));
