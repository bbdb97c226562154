import { expect } from 'chai';
import { createJobNumbers, type JobNumbers } from '../../../gateway/metrics/job-numbers.js';

describe('numbers of jobs', () => {
  const some: JobNumbers = { waiting: 1, running: 0, oldestWaitingAt: null };
  let time: number;
  let reads: (() => Promise<JobNumbers>)[];
  let asked: number;

  beforeEach(() => {
    time = 1_000_000;
    reads = [];
    asked = 0;
  });

  function numbers(patienceMs = 10_000) {
    const read = () => {
      asked += 1;
      return (reads.shift() ?? (async () => some))();
    };
    return createJobNumbers({ read, now: () => time, patienceMs });
  }

  it('are asked for once by many readers, and again after some seconds', async () => {
    const read = numbers();
    expect(await Promise.all([read(), read(), read()])).to.deep.equal([some, some, some]);
    time += 4999;
    await read();
    expect(asked).to.equal(1);
    time += 1;
    await read();
    expect(asked).to.equal(2);
  });

  it('are those of before while the database is away, for a minute', async () => {
    const read = numbers();
    await read();
    const away = () => Promise.reject(new Error('away'));
    reads = [away, away];
    time += 59_999;
    expect(await read()).to.deep.equal(some);
    time += 1;
    expect(await read()).to.equal(undefined);
    expect(await read()).to.deep.equal(some);
  });

  it('hold no reader up that the database leaves without an answer', async () => {
    let answer: (numbers: JobNumbers) => void = () => undefined;
    reads = [() => new Promise((resolve) => (answer = resolve))];
    const read = numbers(1);
    expect(await read()).to.equal(undefined);
    expect(await read()).to.equal(undefined);
    expect(asked).to.equal(1);
    answer(some);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await read()).to.deep.equal(some);
    expect(asked).to.equal(1);
  });
});
