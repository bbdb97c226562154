import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkFolder } from '../../../gateway/commands/plugins/check.js';
import { makeFolder } from '../../../gateway/file-system.js';
import { PluginError } from '../../../gateway/plugins/registry.js';
import { createBackOff } from '../../../gateway/supervisor/supervise.js';
import { skipWithout, until } from '../../needs.js';
import { answering } from '../answering.js';
import { bin, startChild } from '../harness.js';
import { closed } from '../raw-client.js';
import { callOnce, lives, startWorld, type World } from './world.js';

describe('serve with one process', function () {
  this.timeout(120_000);
  let world: World | undefined;
  afterEach(async () => {
    await world?.end();
    world = undefined;
  });

  it('starts another where it crashes, on the same ports', async () => {
    world = await startWorld({});
    const { url, connect_url, key, pids } = world;
    process.kill(pids()[0] as number, 'SIGSEGV');
    await until(() => pids().length === 2);
    await until(async () => (await callOnce(`${url}/text/diff-two-strings?a=1&b=2&ak=${key}`)) === 200);
    await until(async () => (await callOnce(`${connect_url}/sign-in`)) === 200);
    expect(world.lines('not told to')[0]).to.include({ process: 1, signal: 'SIGSEGV', restart_ms: 0 });
    expect(await world.stop()).to.equal(0);
  });

  it('holds no port once its supervisor is killed', async () => {
    world = await startWorld({});
    const [pid = 0] = world.pids();
    expect(await world.stop('SIGKILL')).to.equal(null);
    await closed(world.url);
    await until(() => !lives(pid));
  });

  it('tries a start that fails again and again, with a wait, until it does not', async () => {
    const folder = join(import.meta.dirname, `.plugins-${process.pid}`);
    await makeFolder(folder);
    try {
      await writeFile(join(folder, 'say.mjs'), answering(1));
      world = await startWorld({ HELPER_PLUGINS: folder });
      const { pids, lines, written } = world;
      await writeFile(join(folder, 'say.mjs'), 'export default 7;');
      process.kill(pids()[0] as number, 'SIGKILL');
      await until(() => lines('not told to').length === 2);
      expect(lines('not told to')[1]).to.include({ code: 1, restart_ms: 1000 });
      expect(written()).to.include('must be a helper declaration');
      await writeFile(join(folder, 'say.mjs'), answering(2));
      await until(() => pids().length === 2);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

describe('the supervisor', function () {
  this.timeout(120_000);
  before(function () {
    if (process.platform !== 'linux') skipWithout(this, 'Linux, which shows its processes as files');
  });

  it('goes on while the system has no room for another process, and starts it once it has', async function () {
    const limit = (pid: number, files: string) =>
      spawnSync('prlimit', ['--pid', `${pid}`, `--nofile=${files}`]);
    if (limit(process.pid, ':').error) skipWithout(this, 'the prlimit command');
    const world = await startWorld({ HELPER_PROCESSES: '2' });
    try {
      const { pid = 0 } = world.child;
      limit(pid, '8:4096');
      process.kill(world.pids()[1] as number, 'SIGKILL');
      await world.until(() => world.written().includes('no process could be started; it is tried again'));
      expect(lives(world.pids()[0] as number)).to.equal(true);
      limit(pid, '4096:4096');
      await world.until(() => world.pids().length === 3);
      expect(await world.stop()).to.equal(0);
    } finally {
      await world.end();
    }
  });

  it('has all listen on the first port again where all ended at once', async () => {
    const world = await startWorld({ HELPER_PROCESSES: '2' });
    try {
      const { pid = 0 } = world.child;
      await until(() => childrenOf(pid).length === 2);
      for (const each of childrenOf(pid)) process.kill(each, 'SIGKILL');
      const answering = () => {
        const living = childrenOf(pid);
        return new Set(
          world.lines('"msg":"call"').flatMap((line) => living.filter((each) => each === line.pid)),
        );
      };
      await until(async () => {
        await callOnce(`${world.url}/text/diff-two-strings?a=1&b=2&ak=${world.key}`);
        return answering().size === 2;
      });
    } finally {
      await world.end();
    }
  });

  it('ends at a signal that comes while it starts, as the first process of a container too', async function () {
    const inNamespace = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child'];
    if (spawnSync('unshare', [...inNamespace, 'true']).status !== 0) {
      skipWithout(this, 'process namespaces (unshare -Urp)');
    }
    const folder = await mkdtemp(join(tmpdir(), 'supervisor-'));
    try {
      // The start does not end before the signal.
      await writeFile(join(folder, 'slow.mjs'), 'setInterval(() => {}, 1000); await new Promise(() => {});');
      const child = startChild('unshare', [...inNamespace, process.execPath, bin, 'serve', '--json'], {
        env: {
          PATH: process.env.PATH,
          HELPER_DATA_DIR: folder,
          HELPER_PLUGINS: folder,
          PORT: '0',
          CONNECT_PORT: '0',
        },
      });
      const { pid = 0 } = child.process;
      const begun = () => childrenOf(pid).find((each) => childrenOf(each).length > 0);
      await until(() => begun() !== undefined);
      process.kill(begun() as number, 'SIGTERM');
      expect(await child.ended).to.equal(143);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

const loop = `import { writeSync } from 'node:fs';
const loop = () => { writeSync(2, 'looping\\n'); for (;;); };`;
const inline = `${loop}
export default { summary: 'Loops.', runs: 'inline', input: { type: 'object' }, handler: loop };`;
const watchdog = new URL('../../../pool/task-limits.js', import.meta.url).href;

describe('a loop that never ends', function () {
  this.timeout(120_000);
  let folder: string;
  before(function () {
    if (process.platform !== 'linux') skipWithout(this, 'Linux, which shows its processes as files');
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'loops-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function serve() {
    const child = startChild(process.execPath, [bin, 'serve', '--json'], {
      env: {
        PATH: process.env.PATH,
        HELPER_DATA_DIR: folder,
        HELPER_PLUGINS: folder,
        PORT: '0',
        CONNECT_PORT: '0',
      },
    });
    await child.until(() => child.stderr().includes('looping'));
    const { pid = 0 } = child.process;
    const serving = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
    expect(lives(serving)).to.equal(true);
    return { child, serving };
  }

  for (const [signal, code] of [['SIGTERM', 143] as const, ['SIGKILL', null] as const]) {
    it(`at an import under serve leaves no process behind at ${signal}`, async () => {
      await writeFile(join(folder, 'loop.mjs'), `${loop}\nloop();`);
      const { child, serving } = await serve();
      child.process.kill(signal);
      await until(() => !lives(serving));
      expect(await child.ended).to.equal(code);
    });
  }

  it('in an inline helper does not outlive a SIGTERM', async () => {
    await writeFile(join(folder, 'loop.mjs'), inline);
    const world = await startWorld({ HELPER_PLUGINS: folder, HELPER_TASK_TIMEOUT_MS: '500' });
    try {
      const [serving = 0] = world.pids();
      void callOnce(`${world.url}/loop?ak=${world.key}`);
      await world.until(() => world.written().includes('looping'));
      expect(await world.stop()).to.equal(1);
      expect(lives(serving)).to.equal(false);
      expect(world.lines('a process is killed')[0]).to.include({ process: 1, killed_pid: serving });
    } finally {
      await world.end();
    }
  });

  it('at an import is named by plugins check, beside all other faults', async () => {
    await writeFile(join(folder, 'bad.mjs'), 'export default 1;');
    await writeFile(join(folder, 'loop.mjs'), 'for (;;);');
    const found = await checkFolder(folder, { lookMs: 100 });
    expect(found).to.be.instanceOf(PluginError);
    const reasons = (found as PluginError).problems.map(({ file, reason }) => `${file}: ${reason}`);
    expect(reasons).to.have.length(2);
    expect(reasons.join('\n')).to.match(/bad\.mjs: .*declaration/);
    expect(reasons.join('\n')).to.match(/loop\.mjs: .*does a loop at its top never end/);
  });

  for (const ends of [true, false]) {
    it(`is named by the watchdog, which ends the process where it is to: ${ends}`, async () => {
      const options = JSON.stringify({ limitMs: 100, ends });
      const code = `import { watchSteps } from ${JSON.stringify(watchdog)};
        const steps = watchSteps(['loading w.mjs', 'loading x.mjs'], ${options});
        steps.next();
        for (const end = Date.now() + 3000; ${ends} || Date.now() < end;);
        process.exit(7);`;
      const child = startChild(process.execPath, ['--input-type=module', '--eval', code]);
      expect(await child.ended).to.equal(ends ? null : 7);
      expect(child.stderr()).to.include('helper-gateway: it is still loading x.mjs');
    });
  }
});

describe('the wait before a process is started again', () => {
  it('is none at first, and doubles for what ends again and again', () => {
    const waitAfter = createBackOff();
    const waits = Array.from({ length: 8 }, () => waitAfter(10));
    expect(waits).to.deep.equal([0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it('is none again after a minute of life', () => {
    const waitAfter = createBackOff();
    expect([waitAfter(10), waitAfter(10), waitAfter(60_000), waitAfter(10)]).to.deep.equal([
      0, 1_000, 0, 1_000,
    ]);
  });
});
