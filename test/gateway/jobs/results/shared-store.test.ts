import { expect } from 'chai';
import type { Database } from '../../../../gateway/database/database.js';
import { createStoreWatch } from '../../../../gateway/jobs/results/shared-store.js';
import { createMaintenance } from '../../../../gateway/jobs/runner/maintenance.js';
import { createRetryPolicy } from '../../../../gateway/jobs/runner/retry-policy.js';
import { until } from '../../../needs.js';
import { onEachDatabase } from '../../databases.js';
import { done, inputs, newJob, openJobStore, refs } from '../store/stored-jobs.js';

const logger = { info() {}, warn() {}, error() {} };
const nothing = async () => undefined;

describe('jobs/results of several hosts', () =>
  onEachDatabase((files) => {
    let database: Database;
    beforeEach(async () => {
      database = await files().connect();
    });

    /** What a process sees that has this store. */
    const watch = (id: () => Promise<string>, keptSince = 0) =>
      createStoreWatch({ access: database.access(), results: { id }, keptSince: () => keptSince, logger });

    /** Why a process with this store makes no job. */
    async function refusalOf(store: string, keptSince?: number): Promise<string | undefined> {
      const seen = watch(async () => store, keptSince);
      expect(await seen.look()).to.equal(seen.refusal() === undefined);
      return seen.refusal()?.message;
    }

    it('are one store for all processes that work on a job', async () => {
      expect([await refusalOf('one'), await refusalOf('other')]).to.deep.equal([undefined, undefined]);
      const store = openJobStore(database);
      const job = newJob();
      await store.create(job, inputs(1));
      expect(await refusalOf('other')).to.equal(undefined);
      const { now } = store.clock;
      expect(await refusalOf('one', now + 1)).to.match(/HELPER_RESULTS_URL.*HELPER_DATA_DIR/);
      await store.finish(refs(job.id, 1).map((item) => done(item)));
      expect(await refusalOf('one', now)).to.be.a('string');
      expect(await refusalOf('one', now + 1)).to.equal(undefined);
    });

    it('are settled where several ask at once', async () => {
      const refusals = await Promise.all(Array.from({ length: 4 }, () => refusalOf('one')));
      expect(refusals).to.deep.equal(Array(4).fill(undefined));
    });

    it('are none where the store does not answer', async () => {
      const seen = watch(() => Promise.reject(new Error('read-only')));
      expect(await seen.look()).to.equal(false);
      expect(seen.refusal()?.message).to.include('HELPER_DATA_DIR');
    });

    it('have jobs worked on where their files lie, whichever looked last while there was none', async () => {
      function host(name: string) {
        const store = openJobStore(database, { now: Date.now() });
        const seen = watch(async () => name);
        let looks = 0;
        const opened: string[] = [];
        const maintenance = createMaintenance({
          ...{ store, logger, retryPolicy: createRetryPolicy({ logger }), pollMs: 5 },
          queue: { add: nothing, remove: nothing, recover: nothing },
          seesFiles(options) {
            looks += 1;
            return seen.look(options);
          },
          onOpen: (tenants) => void opened.push(...tenants),
        });
        /** Makes a job where it may. */
        async function create(): Promise<boolean> {
          const mayCreate = await seen.look({ anew: true });
          if (mayCreate) await store.create(newJob(), inputs(1));
          return mayCreate;
        }
        return { create, opened, looks: () => looks, close: () => maintenance.close() };
      }

      const [one, other] = [host('one'), host('other')];
      try {
        // Both see that nothing is in the way.
        await until(() => one.looks() > 2 && other.looks() > 2);
        expect(await one.create()).to.equal(true);
        await until(() => one.opened.length > 0);
        // More than the three of one round, of which one at least is whole.
        const seen = other.looks();
        await until(() => other.looks() > seen + 6);
        expect([await other.create(), await one.create(), other.opened]).to.deep.equal([false, true, []]);
      } finally {
        await Promise.all([one.close(), other.close()]);
      }
    });
  }));
