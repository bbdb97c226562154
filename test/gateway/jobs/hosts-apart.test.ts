import { expect } from 'chai';
import type { Database } from '../../../gateway/database/database.js';
import { GatewayError } from '../../../gateway/errors.js';
import { createJobs } from '../../../gateway/jobs/create-jobs.js';
import { judgeSharedStore, type SharedStoreTables } from '../../../gateway/jobs/results/shared-store.js';
import { createChores } from '../../../gateway/jobs/runner/chores.js';
import { createPatience } from '../../../gateway/jobs/runner/patience.js';
import { createStoreWatch } from '../../../gateway/jobs/runner/store-watch.js';
import { until } from '../../until.js';
import { onEachDatabase } from '../databases.js';
import { inputs, openJobStore } from './store/stored-jobs.js';

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
        () => judgeSharedStore(database.access<SharedStoreTables>(), { id: async () => name }, 0),
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
      const chores = createChores({
        store,
        queue: { add: async () => undefined, remove: async () => undefined, recover: async () => undefined },
        patience: createPatience({ logger }),
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
