import { expect } from 'chai';
import type { JobQueue, Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import { createPoller } from '../../../../gateway/jobs/runner/poller.js';
import { createLackingHelpers } from '../../../../gateway/jobs/runner/retries.js';
import { createRetryPolicy } from '../../../../gateway/jobs/runner/retry-policy.js';
import type { StartedItem } from '../../../../gateway/jobs/store/transitions.js';
import { until } from '../../../needs.js';
import { type QueuePlace, queuePlaces } from '../queue/queues.js';
import { createMemoryJobs, createRunnerWorld, type MemoryJobs, type RunnerWorld } from './runner-world.js';

describe('jobs/runner: the intake', () => {
  it('tells why items cannot be taken, and holds no lease of them', async () => {
    const waiting: Lease[] = [0, 1].map((index) => ({ tenant: 'a', job: 'job_a', index, token: 't' }));
    const held = new Set<Lease>();
    const told: unknown[] = [];
    const intake = createPoller({
      queue: {
        lease: async (_, most) => waiting.splice(0, most),
        done: async () => undefined,
        release: async () => undefined,
      },
      store: {
        // The second was lost so often that it is put off.
        start: async (refs) =>
          refs.map((ref) => ({ ...ref, of: {}, attempt: ref.index === 0 ? 1 : 5 }) as StartedItem),
        open: async () => [],
        handBack: () => Promise.reject(new TypeError('a bug')),
      },
      leases: {
        hold: (lease) => void held.add(lease),
        drop: (lease) => void held.delete(lease),
        close() {},
      },
      retryPolicy: createRetryPolicy({ logger: { info() {}, warn() {} }, firstMs: 1 }),
      threads: 1,
      registry: { get: () => ({}) as never },
      inbound: { most: 1_000, bytes: 256e6 },
      logger: { error: (line: { err?: unknown }) => void told.push(line.err) },
      onItem: () => expect.fail('none can be begun'),
    });
    intake.open('a');
    await until(() => told.length > 0 && waiting.length === 0);
    await intake.close();
    expect(told.map(String)).to.deep.equal(['TypeError: a bug']);
    expect(held.size).to.equal(0);
  });
});

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
