import { expect } from 'chai';
import type { Database } from '../../../../gateway/database/database.js';
import { judgeSharedStore, type SharedStoreTables } from '../../../../gateway/jobs/results/shared-store.js';
import { onEachDatabase } from '../../databases.js';
import { done, inputs, newJob, openJobStore, refs } from '../store/stored-jobs.js';

describe('jobs/results of several hosts', () =>
  onEachDatabase((files) => {
    let database: Database;
    beforeEach(async () => {
      database = await files().connect();
    });
    const judge = (id: string, keptSince = 0) =>
      judgeSharedStore(database.access<SharedStoreTables>(), { id: async () => id }, keptSince);

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
      const verdict = await judgeSharedStore(database.access<SharedStoreTables>(), broken, 0);
      expect(verdict).to.have.property('message').that.contains('HELPER_DATA_DIR');
    });
  }));
