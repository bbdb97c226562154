import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { mostItems } from '../../../../gateway/jobs/model.js';
import type { Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import { until } from '../../../needs.js';
import { startChild } from '../../harness.js';
import { createPulse, type QueuePlace, queuePlaces } from './queues.js';

const holder = fileURLToPath(new URL('hold-items.js', import.meta.url));
// All that a job may have where everything is tested: BullMQ takes PostgreSQL milliseconds for each.
const count = process.env.TEST_RELOADS === 'all' ? mostItems : 1_000;

describe('job queue, with many items and tenants', () => {
  for (const { name, require, create } of queuePlaces) {
    describe(`on ${name}`, () => {
      let place: QueuePlace;
      before(require);
      beforeEach(async () => {
        place = await create();
      });
      afterEach(() => place.drop());

      it('gives what a process held that was killed, and nothing of what one holds that lives', async () => {
        const leaseMs = 1_000;
        const queue = await place.open({ leaseMs });
        let tries = 0;

        async function attempt(): Promise<boolean> {
          tries += 1;
          const job = `job_${tries}`;
          await queue.add(
            'acme',
            Array.from({ length: 5 }, (_, index) => ({ job, index })),
          );
          const child = startChild(process.execPath, [
            holder,
            place.kind,
            place.location,
            String(leaseMs),
            '3',
          ]);
          await child.until(() => child.stdout().includes('holds 3'));
          const own = await queue.lease('acme', 2);
          const [pulse, childs] = [createPulse(), createPulse()];
          let heard = '';
          const again: Lease[] = [];
          const look = async () => {
            await queue.extend(own);
            pulse.beat();
            if (child.stdout() !== heard) childs.beat();
            heard = child.stdout();
            await queue.recover('acme');
            again.push(...(await queue.lease('acme', 9)));
            // SQLite lets in whoever asks at the right moment: the other process has to find one.
            await sleep(50);
            return again.length >= 3;
          };
          while (pulse.ms() < 1.5 * leaseMs) await look();
          const early = again.length;
          const stalled = Math.max(pulse.longest(), childs.longest()) > leaseMs / 2;
          child.process.kill('SIGKILL');
          await until(look);
          await queue.done([...own, ...again]);
          // A machine that stalled for as long has lost them rightly.
          if (stalled || pulse.longest() > leaseMs / 2) return false;
          expect(early, child.written()).to.equal(0);
          const indexes = again.map(({ index }) => index).sort();
          expect([...indexes, ...own.map(({ index }) => index)]).to.deep.equal([0, 1, 2, 3, 4]);
          return true;
        }
        await until(attempt);
      });

      it(`holds a job of ${count} items, and nothing of it once all are done`, async () => {
        const queue = await place.open();
        await queue.add('acme', [{ job: 'job_warm', index: 0 }]);
        await queue.done(await queue.lease('acme', 1));
        const before = await place.left();
        const items = Array.from({ length: count }, (_, index) => ({ job: 'job_a', index }));
        await queue.add('acme', items);
        await queue.add('acme', items);
        expect(await place.left()).to.be.at.least(before + count);
        const seen = new Set<number>();
        for (;;) {
          const leases = await queue.lease('acme', 200);
          if (leases.length === 0) break;
          for (const { index } of leases) seen.add(index);
          await queue.done(leases);
        }
        expect(seen.size).to.equal(count);
        expect(await place.left()).to.equal(before);
      });

      it('takes no connection for a tenant', async () => {
        const queue = await place.open();
        const tenants = Array.from({ length: 100 }, (_, number) => `ten_${number}`);
        await Promise.all(tenants.map((tenant) => queue.add(tenant, [{ job: `job_${tenant}`, index: 0 }])));
        const taken = await Promise.all(tenants.map((tenant) => queue.lease(tenant, 2)));
        expect(taken.flat().map(({ tenant }) => tenant)).to.deep.equal(tenants);
        expect(sockets()).to.be.at.most(8);
        await queue.done(taken.flat());
      });
    });
  }
});

/** Connections of this process. */
function sockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}
