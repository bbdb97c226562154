import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { JobQueue, Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import { until } from '../../../until.js';
import { createPulse } from './pulse.js';
import { type QueuePlace, queuePlaces } from './queues.js';

/** Items of a job, by index. */
const items = (job: string, ...indexes: number[]) => indexes.map((index) => ({ job, index }));
const names = (leases: readonly Lease[]) => leases.map(({ job, index }) => `${job}/${index}`);
const many = (job: string, count: number) => Array.from({ length: count }, (_, index) => ({ job, index }));

function queueTests(create: () => Promise<QueuePlace>): void {
  let place: QueuePlace;
  let queue: JobQueue;
  before(async () => {
    place = await create();
  });
  beforeEach(async () => {
    queue = await place.open();
  });
  afterEach(() => place.clear());
  after(() => place?.drop());

  it('gives items in the order in which they were added', async () => {
    await queue.add('acme', items('job_b', 0, 1, 2));
    await queue.add('acme', items('job_a', 0));
    expect(names(await queue.take('acme', 2))).to.deep.equal(['job_b/0', 'job_b/1']);
    expect(names(await queue.take('acme', 9))).to.deep.equal(['job_b/2', 'job_a/0']);
    expect(await queue.take('acme', 9)).to.deep.equal([]);
  });

  it('keeps tenants apart', async () => {
    await queue.add('acme', items('job_a', 0));
    await queue.add('zeta', items('job_z', 0));
    expect(names(await queue.take('zeta', 9))).to.deep.equal(['job_z/0']);
    expect(await queue.take('nobody', 9)).to.deep.equal([]);
    expect(names(await queue.take('acme', 9))).to.deep.equal(['job_a/0']);
  });

  it('adds an item once, though it is added again while it waits and while it is leased', async () => {
    await queue.add('acme', items('job_a', 0, 1));
    await queue.add('acme', items('job_a', 0, 1, 2, 2));
    const leases = await queue.take('acme', 2);
    await queue.add('acme', items('job_a', 0, 1, 2));
    expect(names(await queue.take('acme', 9))).to.deep.equal(['job_a/2']);
    expect(await queue.extend(leases)).to.deep.equal([]);
  });

  it('takes an item out for good, and in again where it is added again', async () => {
    await queue.add('acme', items('job_a', 0));
    await queue.done(await queue.take('acme', 9));
    expect(await queue.take('acme', 9)).to.deep.equal([]);
    await queue.add('acme', items('job_a', 0));
    expect(names(await queue.take('acme', 9))).to.deep.equal(['job_a/0']);
  });

  it('never gives two processes the same item', async () => {
    const other = await place.open();
    await queue.add('acme', many('job_a', 200));
    const taken: string[] = [];
    async function takeAll(from: JobQueue): Promise<void> {
      for (;;) {
        const leases = await from.take('acme', 7);
        if (leases.length === 0) return;
        taken.push(...names(leases));
        await from.done(leases);
      }
    }
    await Promise.all([takeAll(queue), takeAll(other), takeAll(queue), takeAll(other)]);
    expect(taken).to.have.lengthOf(200);
    expect(new Set(taken)).to.have.lengthOf(200);
  });

  it('gives back what is released, before all others', async () => {
    const other = await place.open();
    await queue.add('acme', items('job_a', 0, 1, 2));
    await queue.release(await queue.take('acme', 1));
    expect(names(await other.take('acme', 1))).to.deep.equal(['job_a/0']);
    expect(names(await other.take('acme', 9))).to.deep.equal(['job_a/1', 'job_a/2']);
  });

  it('keeps back what is released for a while', async () => {
    await queue.add('acme', items('job_a', 0, 1));
    await queue.release(await queue.take('acme', 1), 300_000);
    const leases = await queue.take('acme', 9);
    expect(names(leases)).to.deep.equal(['job_a/1']);
    await queue.release(leases, 30);
    expect(names(await until(() => taken(queue)))).to.deep.equal(['job_a/1']);
  });

  it('gives what is released for later in its old place, before what was added behind it', async () => {
    await queue.add('acme', items('job_a', 0, 1));
    await queue.release(await queue.take('acme', 1), 30);
    await queue.add('acme', many('job_b', 30));
    await sleep(100);
    const seen: string[] = [];
    await until(async () => {
      seen.push(...names(await queue.take('acme', 1)));
      return seen.includes('job_a/0');
    });
    expect(seen.length).to.be.below(31);
  });

  it('gives what was lost in its old place', async () => {
    const brief = await place.open({ leaseMs: 50 });
    await queue.add('acme', items('job_a', 0, 1));
    await brief.take('acme', 1);
    await queue.add('acme', items('job_b', 0, 1));
    await until(async () => {
      await brief.recover('acme');
      const leases = await queue.take('acme', 1);
      await queue.release(leases);
      return names(leases)[0] === 'job_a/0';
    });
    // One at a time: what is taken together comes in the order in which the backend's connections answer.
    const seen: string[] = [];
    for (let at = 0; at < 5; at += 1) seen.push(...names(await queue.take('acme', 1)));
    expect(seen).to.deep.equal(['job_a/0', 'job_a/1', 'job_b/0', 'job_b/1']);
  });

  it('takes out what waits of the items that it is given, and leaves what is leased', async () => {
    await queue.add('acme', items('job_a', 0, 1, 2));
    await queue.add('acme', items('job_b', 0));
    const leases = await queue.take('acme', 1);
    await queue.remove('acme', items('job_a', 0, 1, 2, 3));
    expect(names(await queue.take('acme', 9))).to.deep.equal(['job_b/0']);
    expect(await queue.extend(leases)).to.deep.equal([]);
    await queue.done(leases);
  });

  it('passes over leases that were lost', async () => {
    const brief = await place.open({ leaseMs: 50 });
    await queue.add('acme', items('job_a', 0));
    const lost = await brief.take('acme', 1);
    const leases = await until(() => taken(queue, brief));
    await brief.done(lost);
    await brief.release(lost);
    await brief.release(lost, 10);
    expect(await brief.extend(lost)).to.deep.equal(lost);
    expect(await queue.extend(leases)).to.deep.equal([]);
    expect(await queue.take('acme', 1)).to.deep.equal([]);
    await queue.done(leases);
    expect(await brief.extend(lost)).to.deep.equal(lost);
  });

  it('leaves an item to whoever prolongs its lease', async () => {
    const leaseMs = 200;
    const brief = await place.open({ leaseMs });
    let tries = 0;

    async function attempt(): Promise<boolean> {
      tries += 1;
      const job = `job_${tries}`;
      await queue.add('acme', items(job, 0, 1));
      const [kept, left] = await brief.take('acme', 2);
      if (!kept || !left) throw new Error('two were added');
      const pulse = createPulse();
      const others: Lease[] = [];
      const lost: Lease[] = [];
      while (others.length === 0 || pulse.ms() < 500) {
        lost.push(...(await brief.extend([kept, ...others])));
        pulse.beat();
        others.push(...((await taken(queue, brief)) ?? []));
      }
      await queue.done([kept, ...others]);
      // A machine that stalled for as long has lost it rightly.
      if (pulse.longest() > leaseMs / 2) return false;
      expect(lost).to.deep.equal([]);
      expect(names(others)).to.deep.equal(names([left]));
      return true;
    }
    await until(attempt);
  });

  it('leaves nothing of what was done', async () => {
    await queue.add('acme', items('job_warm', 0));
    await queue.done(await queue.take('acme', 1));
    const before = await place.left();
    await queue.add('acme', many('job_a', 30));
    await queue.release(await queue.take('acme', 5));
    await queue.release(await queue.take('acme', 10), 1);
    for (let gone = 0; gone < 30; ) {
      const leases = await queue.take('acme', 20);
      await queue.done(leases);
      gone += leases.length;
    }
    expect(await place.left()).to.equal(before);
  });

  async function taken(by: JobQueue, recoverer = by): Promise<Lease[] | undefined> {
    await recoverer.recover('acme');
    const leases = await by.take('acme', 9);
    return leases.length > 0 ? leases : undefined;
  }
}

describe('job queue', () => {
  for (const { name, require, create } of queuePlaces) {
    describe(`on ${name}`, () => {
      before(require);
      queueTests(create);
    });
  }
});
