import { expect } from 'chai';
import { createJobId } from '../../../../gateway/jobs/job-id.js';
import { sweepResults } from '../../../../gateway/jobs/results/sweep.js';

describe('jobs/results/sweep', () => {
  it('removes what no job has, but for jobs that may be being made', async () => {
    const lost = Array.from({ length: 600 }, (_, at) => createJobId(1_000 + at));
    const kept = Array.from({ length: 600 }, (_, at) => createJobId(1_000 + at));
    const others = [createJobId(5_000), createJobId(9_000_000_000_000), 'id', 'job_short'];
    const removed: string[] = [];
    const results = {
      async *prefixes() {
        yield* [...lost, ...kept, ...others];
      },
      removeAll: async (id: string) => void removed.push(id),
    };
    const known = async (ids: readonly string[]) => ids.filter((id) => kept.includes(id));
    expect(await sweepResults(results, { known }, 5_000)).to.equal(600);
    expect(removed).to.deep.equal(lost);
  });
});
