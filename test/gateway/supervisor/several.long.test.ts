import { expect } from 'chai';
import { until } from '../../needs.js';
import { closed, holdCall } from '../raw-client.js';
import { callOnce, lives, startWorld, type World } from './world.js';

describe('serve with two processes', function () {
  this.timeout(120_000);
  let world: World;

  before(async () => {
    world = await startWorld({ HELPER_PROCESSES: '2' });
  });
  after(() => world.end());

  const light = (key: string) => `${world.url}/text/diff-two-strings?a=1&b=2&ak=${key}`;
  const statuses = (url: string, calls: number) =>
    Promise.all(Array.from({ length: calls }, () => callOnce(url)));
  const count = (all: readonly number[], status: number) => all.filter((each) => each === status).length;

  it('prints once what runs where, and has both at work then', async () => {
    await until(() => world.pids().length === 2);
    expect(world.first_key).not.to.equal(null);
    expect(world.written().match(/"ok":true/g)).to.have.length(1);
  });

  it('answers on one address from both', async () => {
    await until(async () => {
      await callOnce(light(world.key));
      return new Set(world.lines('"msg":"call"').map(({ pid }) => pid)).size === 2;
    });
  });

  it('counts a rate once for both', async () => {
    const key = await world.tenant('rated', { rate: 20, burst: 10 });
    const began = performance.now();
    const passed = count(await statuses(light(key), 120), 200);
    const windows = Math.floor((performance.now() - began) / 1000) + 1;
    const bursts = Math.floor((performance.now() - began) / 10_000) + 1;
    expect(passed).to.be.within(30, 20 * windows + 10 * bursts);
  });

  it('counts a monthly quota once for both', async () => {
    const key = await world.tenant('counted', { rate: 0, monthly_quota: 25 });
    expect(count(await statuses(light(key), 60), 200)).to.equal(25);
  });

  it('counts a CPU budget once for both', async () => {
    const key = await world.tenant('budgeted', { rate: 0, monthly_cpu_ms: 200 });
    const sleep = `${world.url}/sleep?ms=20&ak=${key}`;
    let passed = 0;
    for (let call = 0; call < 20; call += 1) passed += count([await callOnce(sleep)], 200);
    expect(passed).to.be.within(5, 10);
    expect(count(await statuses(sleep, 6), 429)).to.equal(6);
  });

  it('accepts a key in both as it is made, and in neither once it is revoked', async () => {
    const key = await world.tenant('fleeting', {});
    expect(count(await statuses(light(key), 6), 200)).to.equal(6);
    const [listed] = (await world.command('GET', '/api/tenants/fleeting/keys')).keys as { id: string }[];
    await world.command('DELETE', `/api/keys/${listed?.id}`);
    await until(async () => count(await statuses(light(key), 6), 401) === 6);
  });

  it('has metrics of both as one', async () => {
    const text = await world.metrics();
    expect(text).to.match(/^helper_gateway_pool_threads 2$/m);
    expect(text).to.match(/^helper_gateway_keys_available 1$/m);
    const calls = /^helper_gateway_calls_total\{service="text\/diff-two-strings",code="ok"\} (\d+)$/m;
    const answered = world.lines('"msg":"call"').filter(({ path, status }) => {
      return path === '/text/diff-two-strings' && status === 200;
    });
    expect(Number(calls.exec(text)?.[1])).to.equal(answered.length);
  });

  it('leaves a quiet tenant its share of both beside a noisy one', async () => {
    const [noisy, quiet] = [await world.tenant('noisy', {}), await world.tenant('quiet', {})];
    const done = { noisy: 0, quiet: 0 };
    let isOver = false;
    // Each call takes long enough here that what it takes to make the next is little beside it, however busy the machine.
    const client = async (name: 'noisy' | 'quiet', key: string) => {
      while (!isOver) {
        if ((await callOnce(`${world.url}/sleep?ms=40&ak=${key}`)) === 200) done[name] += 1;
        if (done.noisy + done.quiet >= 120) isOver = true;
      }
    };
    await Promise.all([
      ...Array.from({ length: 60 }, () => client('noisy', noisy)),
      ...Array.from({ length: 12 }, () => client('quiet', quiet)),
    ]);
    // By calls it would be a sixth; by turns it is half, while it has calls waiting in both.
    expect(done.quiet / (done.noisy + done.quiet)).to.be.greaterThan(0.3);
  });

  it('goes on when one is killed, loses what was inside it, and starts another', async () => {
    const [, victim] = world.pids();
    const outcomes: number[] = [];
    let isOver = false;
    const clients = Array.from({ length: 6 }, async () => {
      while (!isOver) outcomes.push(await callOnce(light(world.key)));
    });
    await until(() => outcomes.length > 30);
    process.kill(victim as number, 'SIGKILL');
    await until(() => world.pids().length === 3);
    const at = outcomes.length;
    await until(() => outcomes.length > at + 30);
    isOver = true;
    await Promise.all(clients);
    expect(count(outcomes, 0)).to.be.at.most(6);
    expect(count(outcomes, 0) + count(outcomes, 200)).to.equal(outcomes.length);
    const [logged] = world.lines('ended unasked');
    expect(logged).to.include({ process: 2, ended_pid: victim, signal: 'SIGKILL', restart_ms: 0 });
  });

  it('finishes the calls of both at SIGTERM, and ends with 0', async () => {
    const release = await holdCall(world.url, world.key, world.dataDir);
    world.child.kill('SIGTERM');
    await closed(world.url);
    expect((await release()).status).to.equal(200);
    expect(await world.ended).to.equal(0);
    expect(world.pids().filter(lives)).to.deep.equal([]);
  });
});
