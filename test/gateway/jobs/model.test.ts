import { expect } from 'chai';
import { createJobId, isJobBefore } from '../../../gateway/jobs/model.js';

describe('jobs/job-id', () => {
  it('sorts by time as text, and is never the same', () => {
    const times = [0, 1, 61, 62, 3_843, 3_844, 1_767_225_600_000, 1_767_225_600_001, 9_999_999_999_999];
    const ids = times.map((time) => createJobId(time));
    expect([...ids].sort()).to.deep.equal(ids);
    for (const id of ids) expect(id).to.match(/^job_[0-9A-Za-z]{22}$/);
    expect(createJobId(5)).not.to.equal(createJobId(5));
  });

  it('tells when it was made', () => {
    const id = createJobId(1_767_225_600_000);
    expect(isJobBefore(id, 1_767_225_600_001)).to.equal(true);
    expect(isJobBefore(id, 1_767_225_600_000)).to.equal(false);
    expect(isJobBefore('job_', 1_767_225_600_001)).to.equal(false);
  });
});
