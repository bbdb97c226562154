import { expect } from 'chai';
import type { Pool, PoolOptions } from '../../pool/pool.js';
import { createGate, type Gate } from '../gateway/harness.js';
import { until } from '../needs.js';
import { callTask, codeOf, of, poolOf, run } from './worker-settings.js';

const sleeping = (ms: number) => callTask('sleep', { ms });
const echo = callTask('echo');
const givenUp = 'the call was given up before its task began';

let pool: Pool;
let gate: Gate;
const gated = () => callTask('gate', { path: gate.file });
const call = (tenant: string, task = echo) => run(pool, task, of(tenant));

async function start(options: Partial<PoolOptions> = {}): Promise<void> {
  gate = await createGate();
  pool = poolOf(options);
  await pool.start();
}

async function end(): Promise<void> {
  await gate.open();
  await pool.close();
  await gate.close();
}

describe('the pool', () => {
  before(() => start());
  after(end);

  it('lets a quiet tenant pass the queue of a noisy one that has every slot, and finishes all of it', async () => {
    const order: string[] = [];
    const note = (tenant: string) => call(tenant, sleeping(20)).then(() => order.push(tenant));
    await Promise.all([...Array.from({ length: 10 }, () => note('noisy')), note('quiet')]);
    // One of the noisy tenant's tasks was running already; the quiet one is next.
    expect(order.indexOf('quiet')).to.be.within(0, 1);
  });

  it('reports of each task that starts how long it waited, and whose it is', async () => {
    const starts: [waitMs: number, tenant: string][] = [];
    pool.watch((waitMs, { tenant }) => starts.push([waitMs, tenant]));
    const held = run(pool, sleeping(20), of('a', { weight: 3, background: true }));
    const waiting = call('b');
    const { ms } = await held;
    expect(ms).to.be.at.least(15);
    await waiting;
    expect(starts.map(([, tenant]) => tenant)).to.deep.equal(['a', 'b']);
    // The other may have begun some time before this one came.
    expect(starts[1]?.[0]).to.be.at.least(ms / 2);
  });

  it('accepts what was expected and has arrived, and a second task of a call, also past its bound', async () => {
    const [late, again] = [pool.ticket(of('a')), pool.ticket(of('a'))];
    await late.reserve();
    await again.run(echo);
    expect(pool.stats().places).to.equal(0);
    const others = Array.from({ length: 10 }, () => call('a', sleeping(10)));
    for (const ticket of [late, again]) expect((await ticket.run(echo)).ok).to.equal(true);
    await Promise.all(others);
  });

  it('moves the bytes of a file instead of copying them', async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const outcome = await call('a', {
      ...callTask('picture'),
      files: { file: { bytes, type: 'image/png' } },
    });
    expect(bytes.byteLength).to.equal(0);
    expect(outcome).to.include({ ok: false, code: 'bad_image' });
  });

  it('finishes what has a slot when it closes, and accepts nothing more', async () => {
    const done = call('a', sleeping(50));
    const closing = pool.close();
    expect(await codeOf(call('a'))).to.equal('shutting_down');
    expect((await done).ok).to.equal(true);
    await closing;
  });
});

describe('a pool that may not start a tenant’s work', () => {
  const stopped = new Set<string>();
  beforeEach(async () => {
    stopped.add('a');
    await start({ stopOf: (tenant) => (stopped.has(tenant) ? 'own' : undefined) });
  });
  afterEach(end);

  it('lets it wait, runs the others’, and goes on when it may', async () => {
    let ran = false;
    const waiting = call('a').then(() => {
      ran = true;
    });
    await call('b');
    expect(ran).to.equal(false);
    stopped.clear();
    pool.look('a');
    await waiting;
  });

  it('ends when the last call that waits has left', async () => {
    const ticket = pool.ticket(of('a'));
    const given = ticket.run(echo).catch((error) => error.message);
    const closing = pool.close();
    ticket.release();
    expect(await given).to.equal(givenUp);
    await closing;
  });
});

describe('background tasks', () => {
  beforeEach(() => start({ queue: 2 }));
  afterEach(end);

  const background = (task = echo) => run(pool, task, of('a', { background: true }));

  it('run after calls, of which none waits for more than one of them, and take no slot', async () => {
    const order: string[] = [];
    const note = (name: string) => () => order.push(name);
    const held = background(gated());
    const later = Array.from({ length: 20 }, () => background().then(note('background')));
    expect(pool.stats()).to.include({ running: 1, places: 0 });
    const calls = ['b', 'a', 'b'].map((tenant) => call(tenant).then(note('call')));
    expect(pool.stats()).to.include({ running: 1, places: 3 });
    await gate.open();
    await Promise.all([held, ...later, ...calls]);
    expect(order[0]).to.equal('call');
    expect(order.lastIndexOf('call')).to.be.below(12);
    expect(order).to.have.length(23);
  });

  it('are given back where they wait when the pool hands back; what runs goes on, and calls too', async () => {
    const running = background(gated());
    const waits = codeOf(background());
    const called = call('b');
    pool.handBack();
    expect([await waits, await codeOf(background())]).to.deep.equal(['shutting_down', 'shutting_down']);
    await gate.open();
    expect([(await running).ok, (await called).ok]).to.deep.equal([true, true]);
  });
});

describe('a helper that times out', () => {
  let reports: [string, boolean][];

  beforeEach(() => {
    reports = [];
    return start({
      threads: 2,
      queue: 50,
      onSlowed: (service, isSlowed) => reports.push([service, isSlowed]),
    });
  });
  afterEach(end);

  it('twice runs one task at a time, shared by its callers, while its neighbours go on, until it has answered', async () => {
    for (const slowed of [[], ['gate']]) {
      // Another tenant's: what that has cost decides who is first below.
      expect(await codeOf(call('d', { ...gated(), timeoutMs: 1 }))).to.equal('helper_timeout');
      expect(pool.slowed()).to.deep.equal(slowed);
    }
    const started: string[] = [];
    pool.watch((_, { tenant }) => started.push(tenant));
    const waiting = ['a', 'a', 'a', 'a', 'a', 'c'].map((tenant) => call(tenant, gated()));
    // It leaves the threads to others until those that it has cost are there again.
    await until(() => pool.stats().running === 1);
    for (let times = 0; times < 3; times += 1) {
      expect((await call('b')).ok).to.equal(true);
      expect(pool.stats().running).to.equal(1);
    }
    await gate.open();
    await Promise.all(waiting);
    expect(started.filter((tenant) => tenant !== 'b').indexOf('c')).to.be.within(1, 2);
    expect(pool.slowed()).to.deep.equal([]);
    expect(reports).to.deep.equal([
      ['gate', true],
      ['gate', false],
    ]);
  });
});
