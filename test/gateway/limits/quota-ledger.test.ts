import { expect } from 'chai';
import { createBatchWriter } from '../../../gateway/database/batch-writer.js';
import type { Access, Database } from '../../../gateway/database/database.js';
import {
  createQuotaLedger,
  pruneQuotas,
  type QuotaLedger,
  type QuotaTables,
} from '../../../gateway/limits/counters.js';
import { onEachDatabase } from '../databases.js';
import { createQuietLog } from '../usage/quiet.js';

const month = '2025-01';

/** The way to a database that answers everything with this. */
function accessThat(answer: () => Promise<never>): Access<QuotaTables> {
  return { kind: 'sqlite', run: answer, change: answer };
}

async function charge(ledger: QuotaLedger, tenant: string, calls: number, of = month): Promise<void> {
  const account = await ledger.open(tenant, of);
  for (let call = 0; call < calls; call += 1) {
    account.hold();
    account.charge();
  }
}

describe('quota ledger', () =>
  onEachDatabase((files) => {
    let database: Database;
    beforeEach(async () => {
      database = await files().connect();
    });

    function openLedger() {
      const access = database.access();
      const writer = createBatchWriter({ access, logger: createQuietLog(), flushEveryMs: 60_000 });
      const ledger = createQuotaLedger(database.access());
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

    it('forgets months long past, and never the current one', async () => {
      const { ledger, writer } = openLedger();
      for (const one of ['2025-01', '2025-11', '2026-01']) await charge(ledger, 'acme', 1, one);
      await writer.flush();
      await database.access().change((trx) => pruneQuotas(1)(trx, Date.UTC(2026, 0, 15), 1_000));
      const { run } = database.access<QuotaTables>();
      const left = await run((db) => db.selectFrom('quota_use').select('month').orderBy('month').execute());
      expect(left.map((row) => row.month)).to.deep.equal(['2025-11', '2026-01']);
    });
  }));

describe('quota ledger on a database that is away', () => {
  it('counts from nothing where the database fails', async () => {
    const ledger = createQuotaLedger(accessThat(() => Promise.reject(new Error('gone'))));
    await charge(ledger, 'acme', 2);
    expect((await ledger.open('acme', month)).used()).to.equal(2);
  });

  it('lets the first call wait a moment, and no other, where the database hangs', async () => {
    const ledger = createQuotaLedger(accessThat(() => new Promise(() => {})));
    // Timers go off in their order, however late.
    let longer = false;
    const timer = setTimeout(() => (longer = true), 3000);
    await charge(ledger, 'acme', 2);
    clearTimeout(timer);
    expect(longer).to.equal(false);
    // Before any timer.
    let isOver = false;
    setImmediate(() => (isOver = true));
    expect((await ledger.open('acme', month)).used()).to.equal(2);
    expect(isOver).to.equal(false);
  });

  it('walks the accounts of a month that has ended in many turns of the event loop', async () => {
    const ledger = createQuotaLedger(accessThat(() => Promise.reject(new Error('gone'))));
    for (let tenant = 0; tenant < 20_000; tenant += 1) void ledger.open(`t${tenant}`, month);
    void ledger.open('t0', '2025-02');
    let turns = 0;
    let counting = setImmediate(function count() {
      turns += 1;
      counting = setImmediate(count);
    });
    await ledger.drain().next();
    clearImmediate(counting);
    expect(turns).to.be.at.least(9);
  });
});
