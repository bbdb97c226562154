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
    const fail = () => expect.fail('nothing was in the way');
    expect(await sweepResults(results, { known }, { madeBefore: 5_000, fail })).to.equal(600);
    expect(removed).to.deep.equal(lost);
  });

  it('goes on behind what cannot be removed', async () => {
    const lost = [1, 2, 3].map((at) => createJobId(at));
    const faults: unknown[] = [];
    const removed: string[] = [];
    const results = {
      async *prefixes() {
        yield* lost;
      },
      async removeAll(id: string) {
        if (id === lost[1]) throw new Error('busy');
        removed.push(id);
      },
    };
    const options = { madeBefore: 5_000, fail: (error: unknown) => void faults.push(error) };
    expect(await sweepResults(results, { known: async () => [] }, options)).to.equal(2);
    expect([removed, faults.length]).to.deep.equal([[lost[0], lost[2]], 1]);
  });
});
