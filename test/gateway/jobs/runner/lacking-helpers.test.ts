import { expect } from 'chai';
import type { JobQueue } from '../../../../gateway/jobs/queue/job-queue.js';
import { createLackingHelpers } from '../../../../gateway/jobs/runner/retries.js';
import { until } from '../../../until.js';
import { type QueuePlace, queuePlaces } from '../queue/queues.js';
import { createMemoryJobs, type MemoryJobs } from './memory-jobs.js';
import { createRunnerWorld, type RunnerWorld } from './runner-world.js';

for (const { name, require, create } of queuePlaces) {
  describe(`items whose helper a process lacks, on ${name}`, () => {
    let place: QueuePlace;
    let queue: JobQueue;
    let jobs: MemoryJobs;
    let worlds: RunnerWorld[] = [];
    before(async function () {
      await require.call(this);
      place = await create();
      queue = await place.open();
    });
    after(() => place?.drop());

    const count = 10;

    async function add(tenant: string): Promise<void> {
      jobs = Object.assign(createMemoryJobs(), { queue });
      jobs.add(tenant, count);
      await queue.add(
        tenant,
        Array.from({ length: count }, (_, index) => ({ job: tenant, index })),
      );
    }

    function start(options: { lacks?: true; lackingMs?: number }): RunnerWorld {
      const world = createRunnerWorld({ jobs, ...options });
      if (options.lacks) world.helpers.delete('work');
      worlds.push(world);
      return world;
    }

    afterEach(async () => {
      await Promise.all(worlds.map(({ runner }) => runner.close()));
      worlds = [];
    });

    /** Has each look for items in turn, which they do once a second otherwise, until it is so. */
    function workUntil(tenant: string, isSo: () => boolean): Promise<unknown> {
      let looks = 0;
      return until(() => {
        worlds[looks++ % worlds.length]?.runner.open([tenant]);
        for (const { running } of worlds) for (const task of [...running]) task.end();
        return isSo();
      });
    }

    it('are done by those that have it, at the first attempt', async () => {
      await add('a');
      start({ lacks: true });
      await workUntil('a', () => jobs.attempts.get('a 0') === 0);
      start({});
      await workUntil('a', () => jobs.ended.length === count);
      expect(new Set(jobs.ended.map(({ end }) => end.state))).to.deep.equal(new Set(['done']));
      expect(new Set(jobs.attempts.values())).to.deep.equal(new Set([1]));
    });

    it('fail when no process has had it for long enough', async () => {
      await add('b');
      start({ lacks: true, lackingMs: 100 });
      await workUntil('b', () => jobs.ended.length === count);
      const codes = jobs.ended.map(({ end }) => (end.state === 'failed' ? end.error.code : end.state));
      expect(new Set(codes)).to.deep.equal(new Set(['not_found']));
    });
  });
}

describe('items whose helper a process lacks', () => {
  let now = 0;
  let has = false;
  const item = (job: string, done = 0) => ({
    ...{ job, done },
    of: { tenant_id: 't', key_id: 'k', service: 'work' },
  });
  const create = () =>
    createLackingHelpers({ get: () => (has ? ({} as never) : undefined) }, undefined, () => now);
  const minute = 60_000;

  beforeEach(() => {
    now = 0;
    has = false;
  });

  it('are left to others for ten minutes, and for as long as their job moves', () => {
    const lacking = create();
    for (let at = 0; at < 60; at += 1) {
      now = at * minute;
      expect(lacking.leave(item('moves', at))).to.include({ counted: false, delayMs: 0 });
      if (at < 10) expect(lacking.leave(item('stands'))).to.include({ counted: false });
      else expect(lacking.leave(item('stands'))).to.equal(undefined);
    }
  });

  it('make way for the tenant’s other items where their job does not move', () => {
    const lacking = create();
    expect(lacking.leave(item('a'))?.delayMs).to.equal(0);
    now = 6_000;
    expect(lacking.leave(item('a'))?.delayMs).to.equal(30_000);
    expect(lacking.leave(item('a', 1))?.delayMs).to.equal(0);
  });

  it('are begun once the helper is there, and are left alone as long again should it go', () => {
    const lacking = create();
    lacking.leave(item('a'));
    now = 11 * minute;
    has = true;
    expect(lacking.leave(item('a'))).to.equal(undefined);
    has = false;
    expect(lacking.leave(item('a'))).to.include({ counted: false });
  });
});
