import { expect } from 'chai';
import type { Database } from '../../../../gateway/database/database.js';
import { GatewayError } from '../../../../gateway/errors.js';
import { createJobs } from '../../../../gateway/jobs/jobs.js';
import {
  checkSharedStore,
  createStoreWatch,
  type SharedStoreTables,
} from '../../../../gateway/jobs/results/shared-store.js';
import { createMaintenance } from '../../../../gateway/jobs/runner/maintenance.js';
import { createRetryPolicy } from '../../../../gateway/jobs/runner/retry-policy.js';
import { until } from '../../../needs.js';
import { onEachDatabase } from '../../databases.js';
import { done, inputs, newJob, openJobStore, refs } from '../store/stored-jobs.js';

describe('jobs/results of several hosts', () =>
  onEachDatabase((files) => {
    let database: Database;
    beforeEach(async () => {
      database = await files().connect();
    });
    const judge = (id: string, keptSince = 0) =>
      checkSharedStore(database.access<SharedStoreTables>(), { id: async () => id }, keptSince);

    it('are one store for all who work on a job', async () => {
      expect(await judge('one')).to.deep.equal({ shared: true });
      expect(await judge('other')).to.deep.equal({ shared: true });
      const store = openJobStore(database);
      const job = newJob();
      await store.create(job, inputs(1));
      expect(await judge('other')).to.deep.equal({ shared: true });
      const refused = await judge('one', store.clock.now + 1);
      expect(refused).to.have.property('shared', false);
      expect(refused)
        .to.have.property('message')
        .that.contains('HELPER_RESULTS_URL')
        .and.contains('HELPER_DATA_DIR');
      await store.finish(refs(job.id, 1).map((item) => done(item)));
      expect(await judge('one', store.clock.now)).to.have.property('shared', false);
      expect(await judge('one', store.clock.now + 1)).to.deep.equal({ shared: true });
    });

    it('are settled where two ask at once', async () => {
      const verdicts = await Promise.all(['one', 'one', 'one', 'one'].map((id) => judge(id)));
      expect(verdicts.every(({ shared }) => shared)).to.equal(true);
    });

    it('are none where the store does not answer', async () => {
      const broken = { id: () => Promise.reject(new Error('read-only')) };
      const verdict = await checkSharedStore(database.access<SharedStoreTables>(), broken, 0);
      expect(verdict).to.have.property('message').that.contains('HELPER_DATA_DIR');
    });
  }));

const logger = { info() {}, warn() {}, error() {} };
const request = {
  ...{ tenantId: 'ten_1', keyId: 'key_1', service: 'text/remove-stopwords', webhookUrl: undefined },
  ...{ inputs: inputs(1), textBytes: 12, files: [], sharedFiles: new Map() },
};

describe('jobs on hosts that do not see each other’s files', () =>
  onEachDatabase((files) => {
    let database: Database;
    beforeEach(async () => {
      database = await files().connect();
    });

    /** As a process has it, with a store of this name. */
    function host(name: string) {
      const store = openJobStore(database, { now: Date.now() });
      const watch = createStoreWatch(
        () => checkSharedStore(database.access<SharedStoreTables>(), { id: async () => name }, 0),
        logger,
      );
      const refusal = () => {
        const message = watch.message();
        return message === undefined ? undefined : new GatewayError('storage_unavailable', { message });
      };
      const jobs = createJobs({
        store,
        results: { put: async () => undefined, get: async () => undefined, removeAll: async () => undefined },
        ttlSeconds: 3600,
        most: { inputs: 1e9, results: 1e9 },
        refusal,
        async lastRefusal() {
          await watch.look({ anew: true });
          return refusal();
        },
      });
      let looks = 0;
      const opened: string[] = [];
      const chores = createMaintenance({
        store,
        queue: { add: async () => undefined, remove: async () => undefined, recover: async () => undefined },
        retryPolicy: createRetryPolicy({ logger }),
        logger,
        seesFiles(options) {
          looks += 1;
          return watch.look(options);
        },
        onOpen: (tenants) => void opened.push(...tenants),
        pollMs: 5,
      });
      return { jobs, opened, looks: () => looks, close: () => chores.close() };
    }

    it('are worked on where their files lie, whoever looked last while there was none', async () => {
      const [one, other] = [host('one'), host('other')];
      try {
        // Both see that nothing is in the way.
        await until(() => one.looks() > 2 && other.looks() > 2);
        await one.jobs.create(request);
        await until(() => one.opened.length > 0);
        // More than the three of one round, of which one at least is whole.
        const seen = other.looks();
        await until(() => other.looks() > seen + 6);
        expect(other.opened).to.deep.equal([]);
        const error = await other.jobs.create(request).catch((error) => error);
        expect(error).to.have.property('code', 'storage_unavailable');
        await one.jobs.create(request);
        expect(other.opened).to.deep.equal([]);
      } finally {
        await Promise.all([one.close(), other.close()]);
      }
    });
  }));
