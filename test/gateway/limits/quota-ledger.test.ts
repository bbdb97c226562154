import { expect } from 'chai';
import type { Kysely } from 'kysely';
import { createQuotaLedger, type QuotaLedger } from '../../../gateway/limits/quota-ledger.js';
import { createBatchWriter } from '../../../gateway/usage/batch-writer.js';
import type { UsageTables } from '../../../gateway/usage/tables.js';
import { skipWithout } from '../../needs.js';
import { databases, type TestDatabase } from '../usage/databases.js';
import { createQuietLog } from '../usage/quiet.js';

const month = '2025-01';

/** A handle on a database that never answers. */
function createHangingDatabase(): Kysely<UsageTables> {
  const query: object = new Proxy(
    {},
    { get: (_, name) => (name === 'executeTakeFirst' ? () => new Promise(() => {}) : () => query) },
  );
  return query as Kysely<UsageTables>;
}

async function charge(ledger: QuotaLedger, tenant: string, calls: number): Promise<void> {
  const account = await ledger.open(tenant, month);
  for (let call = 0; call < calls; call += 1) {
    account.hold();
    account.charge();
  }
}

for (const { name, open } of databases) {
  describe(`quota ledger on ${name}`, () => {
    let database: TestDatabase;
    let db: Kysely<UsageTables>;

    before(async function () {
      const opened = await open();
      if (!opened) return skipWithout(this, `a ${name} server on 127.0.0.1`);
      database = opened;
      db = await database.connect();
    });

    after(async () => {
      await db?.destroy();
      await database?.remove();
    });

    function openLedger() {
      const writer = createBatchWriter({ db, logger: createQuietLog(), flushEveryMs: 60_000 });
      const ledger = createQuotaLedger(db);
      writer.add(ledger);
      return { ledger, writer };
    }

    it('counts calls under way, and only finished ones as charged', async () => {
      const { ledger } = openLedger();
      const account = await ledger.open('under-way', month);
      account.hold();
      account.hold();
      expect([account.used(), account.charged()]).to.deep.equal([2, 0]);
      account.charge();
      account.release();
      expect([account.used(), account.charged()]).to.deep.equal([1, 1]);
    });

    it('learns of the calls of other gateways when it writes its own', async () => {
      const [one, other] = [openLedger(), openLedger()];
      await charge(one.ledger, 'shared', 3);
      await charge(other.ledger, 'shared', 4);
      await one.writer.flush();
      await other.writer.flush();
      expect((await other.ledger.open('shared', month)).used()).to.equal(7);
      await charge(one.ledger, 'shared', 1);
      await one.writer.flush();
      expect((await one.ledger.open('shared', month)).used()).to.equal(8);
      expect((await openLedger().ledger.open('shared', month)).used()).to.equal(8);
    });

    it('keeps what is not written yet when the month is another', async () => {
      const { ledger, writer } = openLedger();
      await charge(ledger, 'late', 2);
      for (const later of ['2025-02', '2025-03']) {
        await ledger.open('late', later);
        await writer.flush();
      }
      expect((await openLedger().ledger.open('late', month)).used()).to.equal(2);
      expect((await ledger.open('late', month)).used()).to.equal(2);
    });
  });
}

describe('quota ledger on a database that is away', () => {
  it('counts from nothing where the database fails', async () => {
    const failing = {
      selectFrom: () => {
        throw new Error('gone');
      },
    } as unknown as Kysely<UsageTables>;
    const ledger = createQuotaLedger(failing);
    await charge(ledger, 'acme', 2);
    expect((await ledger.open('acme', month)).used()).to.equal(2);
  });

  it('lets the first call wait a moment, and no other, where the database hangs', async () => {
    const ledger = createQuotaLedger(createHangingDatabase());
    const began = performance.now();
    await charge(ledger, 'acme', 2);
    expect(performance.now() - began).to.be.below(3000);
    expect(ledger.open('acme', month)).to.not.be.instanceOf(Promise);
    expect((await ledger.open('acme', month)).used()).to.equal(2);
  });
});
