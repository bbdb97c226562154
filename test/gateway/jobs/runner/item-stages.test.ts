import { expect } from 'chai';
import { database as databaseStore, StoreError } from '../../../../gateway/database/store-error.js';
import { GatewayError } from '../../../../gateway/errors.js';
import { createFileBudget } from '../../../../gateway/jobs/runner/item-stages.js';
import type { Limiter } from '../../../../gateway/limits/limiter.js';
import { PoolError } from '../../../../pool/errors.js';
import { until } from '../../../needs.js';
import { rejection } from '../../keys/key-store-contract.js';
import { createRunnerWorld, type RunnerWorld } from './runner-world.js';

describe('jobs/runner, the quota of items', () => {
  let world: RunnerWorld;
  afterEach(() => world.runner.close());

  it('has an item wait while another has the rest of the quota, which fails and gives it back', async () => {
    let left = 1;
    const limiter: Pick<Limiter, 'take'> = {
      async take() {
        const no = { allowed: false, code: 'quota_exceeded', retryAfter: 9, headers: {} } as const;
        if (left === 0) return { ...no, reserved: true };
        left -= 1;
        return { allowed: true, headers: {}, settle: (status) => (left += status < 400 ? 0 : 1) };
      },
    };
    world = createRunnerWorld({ limiter });
    world.jobs.add('a', 2);
    world.runner.open(['a']);
    const first = await until(() => world.running[0]);
    await until(() => world.jobs.released.length === 1);
    expect(world.jobs.ended).to.have.length(0);
    first.fail(new PoolError('helper_timeout', 'it took too long'));
    await until(() => world.jobs.ended.length === 1);
    world.runner.open(['a']);
    (await until(() => world.running[0])).end();
    await until(() => world.jobs.ended.length === 2);
    const codes = world.jobs.ended.map(({ end }) => (end.state === 'failed' ? end.error.code : end.state));
    expect(codes).to.deep.equal(['helper_timeout', 'done']);
  });

  /** A limiter of a quota, what of it is reserved and what was charged. */
  function withQuota() {
    const seen = { reserved: 0, charged: 0 };
    const limiter: Pick<Limiter, 'take'> = {
      async take() {
        seen.reserved += 1;
        const settle = (status: number) => {
          seen.reserved -= 1;
          seen.charged += status < 400 ? 1 : 0;
        };
        return { allowed: true, headers: {}, settle };
      },
    };
    return { limiter, seen };
  }

  it('charges and counts an item once that two run, where its end is written', async () => {
    const { limiter, seen } = withQuota();
    const codes: string[] = [];
    const observeItem = ({ code }: { code: string }) => void codes.push(code);
    world = createRunnerWorld({ limiter, observeItem });
    const other = createRunnerWorld({ limiter, observeItem, jobs: world.jobs });
    world.jobs.add('a', 1);
    world.runner.open(['a']);
    const first = await until(() => world.running[0]);
    // Its lease is lost while it runs.
    await world.jobs.queue.release([{ job: 'a', index: 0, tenant: 'a', token: 'token' }]);
    other.runner.open(['a']);
    const second = await until(() => other.running[0]);
    expect(seen).to.deep.equal({ reserved: 2, charged: 0 });
    second.end();
    await until(() => other.runner.size() === 0);
    expect(seen).to.deep.equal({ reserved: 1, charged: 1 });
    first.end();
    await until(() => world.runner.size() === 0);
    expect(seen).to.deep.equal({ reserved: 0, charged: 1 });
    expect(codes).to.deep.equal(['ok']);
    expect(world.log.map(({ msg }) => msg)).to.deep.equal(['item had ended already']);
    expect(other.log.map(({ msg }) => msg)).to.deep.equal(['item']);
    await other.runner.close();
  });

  it('charges an item when the database is back, also where it had written the end and could not say so', async () => {
    const { limiter, seen } = withQuota();
    world = createRunnerWorld({ limiter });
    const { store } = world.jobs;
    const { finish } = store;
    let tries = 0;
    store.finish = async (all) => {
      tries += 1;
      const ended = tries === 2 ? await finish(all) : undefined;
      if (tries <= 2) throw new StoreError(databaseStore, new Error('lost'));
      return ended ?? finish(all);
    };
    world.jobs.add('a', 1);
    world.runner.open(['a']);
    (await until(() => world.running[0])).end();
    await until(() => world.runner.size() === 0);
    expect(tries).to.equal(3);
    expect(seen).to.deep.equal({ reserved: 0, charged: 1 });
    expect(world.log.filter(({ msg }) => msg === 'item')).to.have.length(1);
  });

  it('gives back what an item has reserved whose result cannot be put, or whose end cannot be written', async () => {
    const { limiter, seen } = withQuota();
    let full = true;
    const put = () => {
      if (full) throw new GatewayError('busy');
    };
    world = createRunnerWorld({ limiter, put });
    world.jobs.add('a', 1);
    world.runner.open(['a']);
    (await until(() => world.running[0])).end(10, 7);
    await until(() => world.jobs.released.length === 1);
    expect(seen).to.deep.equal({ reserved: 0, charged: 0 });
    full = false;
    world.runner.open(['a']);
    const task = await until(() => world.running[0]);
    world.jobs.store.finish = async () => {
      throw new Error('the database refuses it');
    };
    expect(seen).to.deep.equal({ reserved: 1, charged: 0 });
    task.end(10, 7);
    await until(() => world.runner.size() === 0);
    expect(seen).to.deep.equal({ reserved: 0, charged: 0 });
  });
});

describe('jobs/runner/read-item: room for files', () => {
  let held: number;
  let room: ReturnType<typeof createFileBudget>;
  let entered: string[];

  beforeEach(() => {
    [held, entered] = [0, []];
    room = createFileBudget(100, {
      hold(_, bytes) {
        held += bytes;
        return () => {
          held -= bytes;
        };
      },
    });
  });

  async function enter(name: string, bytes: number, signal = new AbortController().signal) {
    const leave = await room.enter(name.slice(0, 1), bytes, signal);
    entered.push(name);
    return leave;
  }
  const settled = () => new Promise(setImmediate);

  it('is counted in the inbound budget until it is given back', async () => {
    const leave = await enter('a', 30);
    expect(held).to.equal(30);
    leave();
    expect(held).to.equal(0);
  });

  it('lets a tenant have half, and always one file, and the next wait until there is room', async () => {
    const first = await enter('a1', 40);
    const waiting = [enter('a2', 40), enter('a3', 5)];
    await enter('b1', 90);
    await settled();
    expect(entered).to.deep.equal(['a1', 'b1']);
    first();
    await settled();
    expect(entered).to.deep.equal(['a1', 'b1', 'a2']);
    (await waiting[0])?.();
    await waiting[1];
    expect([entered.at(-1), held]).to.deep.equal(['a3', 95]);
  });

  it('is not waited for by what is given up', async () => {
    const first = await enter('a1', 40);
    const stop = new AbortController();
    const waiting = rejection(enter('a2', 40, stop.signal));
    stop.abort();
    expect(await waiting).to.include({ code: 'shutting_down' });
    first();
    await settled();
    expect([entered, held]).to.deep.equal([['a1'], 0]);
    stop.abort();
    expect(
      await rejection(room.enter('a', 200, stop.signal).then(() => room.enter('a', 1, stop.signal))),
    ).to.include({
      code: 'shutting_down',
    });
  });
});
