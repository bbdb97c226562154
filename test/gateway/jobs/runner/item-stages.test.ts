import { expect } from 'chai';
import { database as databaseStore, StoreError } from '../../../../gateway/database/store-error.js';
import { GatewayError } from '../../../../gateway/errors.js';
import { createFileBudget } from '../../../../gateway/jobs/runner/item-stages.js';
import type { Limiter } from '../../../../gateway/limits/limiter.js';
import { PoolError } from '../../../../pool/errors.js';
import { until } from '../../../needs.js';
import { rejection } from '../../keys/key-store-contract.js';
import { createRunnerWorld, MemoryJobs, type RunnerWorld, type WorldOptions } from './runner-world.js';

describe('jobs/runner, the quota of items', () => {
  let world: RunnerWorld;
  afterEach(() => world.runner.close());

  /** Adds so many items, and gives the first that runs. */
  function start(count: number, options: WorldOptions) {
    world = createRunnerWorld(options);
    world.jobs.add('a', count);
    return run();
  }

  function run() {
    world.runner.open(['a']);
    return until(() => world.running[0]);
  }

  const refused = { allowed: false, code: 'quota_exceeded', message: 'Used up.' } as const;

  /** A limiter of a quota, what of it is reserved and what was charged. */
  function withQuota(quota = 9) {
    const seen = { reserved: 0, charged: 0, cpu: 0 };
    const limiter: Pick<Limiter, 'take'> = {
      async take() {
        if (seen.reserved + seen.charged === quota)
          return { ...refused, retryAfter: 9, headers: {}, reserved: true };
        seen.reserved += 1;
        const settle = (status: number) => {
          seen.reserved -= 1;
          seen.charged += status < 400 ? 1 : 0;
        };
        const charge = () => {
          seen.cpu += 1;
          return {};
        };
        return { allowed: true, settle, charge };
      },
    };
    return { limiter, seen };
  }

  it('has an item wait while another has the rest of the quota, which fails and gives it back', async () => {
    const { limiter } = withQuota(1);
    const first = await start(2, { limiter });
    await until(() => world.jobs.released.length === 1);
    expect(world.jobs.ended).to.have.length(0);
    first.fail(new PoolError('helper_timeout', 'it took too long'));
    await until(() => world.jobs.ended.length === 1);
    (await run()).end();
    await until(() => world.jobs.ended.length === 2);
    expect(world.jobs.outcomes()).to.deep.equal(['helper_timeout', 'done']);
  });

  it('charges and counts an item once that two run, where its end is written', async () => {
    const { limiter, seen } = withQuota();
    const codes: string[] = [];
    const observeItem = ({ code }: { code: string }) => void codes.push(code);
    const first = await start(1, { limiter, observeItem });
    const other = createRunnerWorld({ limiter, observeItem, jobs: world.jobs });
    // Its lease is lost while it runs.
    await world.jobs.queue.release([{ job: 'a', index: 0, tenant: 'a', token: 'token' }]);
    other.runner.open(['a']);
    const second = await until(() => other.running[0]);
    expect(seen).to.deep.equal({ reserved: 2, charged: 0, cpu: 0 });
    second.end();
    await until(() => other.runner.size() === 0);
    expect(seen).to.deep.equal({ reserved: 1, charged: 1, cpu: 1 });
    first.end();
    await until(() => world.runner.size() === 0);
    expect(seen).to.deep.equal({ reserved: 0, charged: 1, cpu: 1 });
    expect(codes).to.deep.equal(['ok']);
    expect(world.log.map(({ msg }) => msg)).to.deep.equal(['item had ended already']);
    expect(other.log.map(({ msg }) => msg)).to.deep.equal(['item']);
    await other.runner.close();
  });

  it('charges an item when the database is back, also where the answer to what it wrote was lost', async () => {
    const { limiter, seen } = withQuota();
    const jobs = new MemoryJobs();
    const { store } = jobs;
    const { finish } = store;
    let tries = 0;
    store.finish = async (all) => {
      tries += 1;
      const ended = tries === 2 ? await finish(all) : undefined;
      if (tries <= 2) throw new StoreError(databaseStore, new Error('lost'));
      return ended ?? finish(all);
    };
    (await start(1, { limiter, jobs })).end();
    await until(() => world.runner.size() === 0);
    expect(tries).to.equal(3);
    expect(seen).to.deep.equal({ reserved: 0, charged: 1, cpu: 1 });
    expect(world.log.filter(({ msg }) => msg === 'item')).to.have.length(1);
  });

  it('gives back what an item has reserved whose result cannot be put, or whose end cannot be written', async () => {
    const { limiter, seen } = withQuota();
    let full = true;
    const put = () => {
      if (full) throw new GatewayError('busy');
    };
    (await start(1, { limiter, put })).end(10, 7);
    await until(() => world.jobs.released.length === 1);
    expect(seen).to.deep.equal({ reserved: 0, charged: 0, cpu: 0 });
    full = false;
    const task = await run();
    world.jobs.store.finish = async () => {
      throw new Error('the database refuses it');
    };
    expect(seen).to.deep.equal({ reserved: 1, charged: 0, cpu: 0 });
    task.end(10, 7);
    await until(() => world.runner.size() === 0);
    expect(seen).to.deep.equal({ reserved: 0, charged: 0, cpu: 0 });
  });
});

describe('jobs/runner: the budget of items’ files', () => {
  let held: number;
  let budget: ReturnType<typeof createFileBudget>;
  let entered: string[];
  beforeEach(() => {
    [held, entered] = [0, []];
    budget = createFileBudget(100, {
      hold(_, bytes) {
        held += bytes;
        return () => {
          held -= bytes;
        };
      },
    });
  });

  /** A file of the tenant that its name begins with. */
  async function enter(name: string, bytes: number, signal = new AbortController().signal) {
    const leave = await budget.enter(name.slice(0, 1), bytes, signal);
    entered.push(name);
    return leave;
  }
  const settled = () => new Promise(setImmediate);

  it('lets a tenant have half, and always one file, and the next wait until there is room', async () => {
    const first = await enter('a1', 40);
    const waiting = [enter('a2', 40), enter('a3', 5)];
    const other = await enter('b1', 90);
    await settled();
    expect([entered, held]).to.deep.equal([['a1', 'b1'], 130]);
    first();
    await settled();
    expect([entered, held]).to.deep.equal([['a1', 'b1', 'a2'], 130]);
    (await waiting[0])?.();
    (await waiting[1])?.();
    other();
    expect([entered.at(-1), held]).to.deep.equal(['a3', 0]);
  });

  it('is not waited for by what is given up', async () => {
    const first = await enter('a1', 40);
    const stop = new AbortController();
    const waiting = rejection(enter('a2', 40, stop.signal));
    stop.abort();
    expect(await waiting).to.include({ code: 'shutting_down' });
    expect(await rejection(enter('a3', 40, stop.signal))).to.include({ code: 'shutting_down' });
    first();
    await settled();
    expect([entered, held]).to.deep.equal([['a1'], 0]);
  });
});
