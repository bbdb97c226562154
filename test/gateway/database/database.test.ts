import { expect } from 'chai';
import { sql } from 'kysely';
import { StoreError } from '../../../gateway/database/store-error.js';
import { GatewayError } from '../../../gateway/errors.js';
import { createFirstTenant } from '../../../gateway/keys/admin.js';
import { createKeyStore } from '../../../gateway/keys/store.js';
import type { KeyTables } from '../../../gateway/keys/tables.js';
import type { UsageTables } from '../../../gateway/usage/store.js';
import { onEachDatabase } from '../databases.js';
import { rejection } from '../keys/key-store-contract.js';

describe('database/access', () =>
  onEachDatabase((files) => {
    it('reports a database that does not answer by one error, whose cause says why', async () => {
      const database = await files().connect();
      const access = database.access<KeyTables>();
      await database.close();
      const count = () => access.run((db) => db.selectFrom('keys').select('id').execute());
      const add = () => access.change((trx) => trx.deleteFrom('keys').execute());
      for (const work of [count, add]) {
        const error = (await rejection(work())) as StoreError;
        expect(error).to.be.instanceOf(StoreError);
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
      const ends = { expires_at: null, ended_at: null };
      const row = { id: 'sec_1', key_id: 'none', hash: '', prefix: '', suffix: '', created_at: 1, ...ends };
      const orphan = access.run((db) => db.insertInto('secrets').values(row).execute());
      expect(await rejection(orphan)).not.to.be.instanceOf(GatewayError);
    });

    it('undoes a change that fails, and none of those that are asked for at the same moment', async () => {
      const access = (await files().connect()).access<UsageTables>();
      const day = (at: number) => `2026-01-${10 + at}`;
      const failures = await Promise.all(
        Array.from({ length: 9 }, (_, at) =>
          access
            .change(async (trx) => {
              const row = { tenant: 'ten_1', day: day(at), key_id: 'key_1', service: 'text/a', calls: 1 };
              const none = {
                errors_client: 0,
                errors_limited: 0,
                errors_server: 0,
                bytes_in: 0,
                bytes_out: 0,
              };
              await trx
                .insertInto('usage_daily')
                .values({ ...row, ...none, cpu_ms: 0 })
                .execute();
              if (at % 3 === 1) throw new Error(`${at}`);
            })
            .then(
              () => 'none',
              (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message),
            ),
        ),
      );
      expect(failures).to.deep.equal(['none', '1', 'none', 'none', '4', 'none', 'none', '7', 'none']);
      const rows = await access.run((db) =>
        db.selectFrom('usage_daily').select('day').orderBy('day').execute(),
      );
      expect(rows.map((row) => row.day)).to.deep.equal([0, 2, 3, 5, 6, 8].map(day));
    });

    it('refuses to rewrite the audit log', async () => {
      const database = await files().connect();
      await createFirstTenant(createKeyStore(database.access()));
      const statements = ['delete from audit', "update audit set actor = 'another'"];
      if (files().kind === 'postgres') statements.push('truncate audit');
      for (const statement of statements) {
        const change = database.access().change((trx) => sql.raw(statement).execute(trx));
        const { message, cause } = (await rejection(change)) as Error;
        expect(`${message} ${cause}`).to.include('only added to');
      }
    });

    it('gives whole numbers as numbers, and not as text', async () => {
      const access = (await files().connect()).access<KeyTables>();
      const limits = { rate: 2.5, burst: null, monthly_quota: Number.MAX_SAFE_INTEGER, in_flight: 1 };
      const rest = { weight: 3, webhook_version: 1, webhook_rotated_at: 1_900_000_000_124 };
      const row = { id: 'ten_1', name: 'acme', created_at: 1_900_000_000_123, ...limits, ...rest };
      await access.run((db) => db.insertInto('tenants').values(row).execute());
      const found = await access.run((db) => db.selectFrom('tenants').selectAll().executeTakeFirst());
      expect(found).to.deep.include(row);
    });
  }));
