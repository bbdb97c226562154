import { expect } from 'chai';
import { createJobId } from '../../../../gateway/jobs/job-id.js';
import { type Forgetting, forgetJobs } from '../../../../gateway/jobs/runner/forget-jobs.js';
import { createPatience } from '../../../../gateway/jobs/runner/patience.js';
import { until } from '../../../until.js';

const logger = { error() {}, info() {}, warn() {} };
const hourMs = 3_600_000;

describe('jobs/runner/forget-jobs', () => {
  let forgetting: Forgetting;
  afterEach(() => forgetting.close());

  function world({ seesFiles = true } = {}) {
    const expired = Array.from({ length: 25 }, (_, at) => createJobId(at));
    const told: string[] = [];
    const asked: number[] = [];
    const lost = [createJobId(Date.now() - 26 * hourMs), createJobId(Date.now() - 24 * hourMs)];
    forgetting = forgetJobs({
      store: {
        async expired(endedBefore, most) {
          asked.push(endedBefore);
          return expired.slice(0, most).map((id) => ({ id, tenant_id: 'a' }));
        },
        async remove(id) {
          told.push(`row ${id}`);
          expired.splice(expired.indexOf(id), 1);
        },
        known: async () => [],
      },
      results: {
        removeAll: async (id) => void told.push(`files ${id}`),
        async *prefixes() {
          yield* lost;
        },
      },
      patience: createPatience({ logger }),
      logger,
      ttlSeconds: 3_600,
      seesFiles: async () => seesFiles,
      sweepAfterMs: 0,
    });
    return { told, asked, lost, all: [...expired] };
  }

  it('forgets every job whose time has run out, its files before its rows', async () => {
    const { told, asked, all } = world();
    await until(() => told.length >= 50);
    expect(told.slice(0, 50)).to.deep.equal(all.flatMap((id) => [`files ${id}`, `row ${id}`]));
    expect(asked[0]).to.be.within(Date.now() - hourMs - 60_000, Date.now() - hourMs);
  });

  it('removes files that no job has, but those of a job that may be kept somewhere', async () => {
    const { told, lost } = world();
    await until(() => told.length === 51);
    expect(told[50]).to.equal(`files ${lost[0]}`);
  });

  it('touches nothing where it does not see the files of jobs', async () => {
    const { told, asked } = world({ seesFiles: false });
    await forgetting.close();
    expect([...told, ...asked]).to.deep.equal([]);
  });
});
