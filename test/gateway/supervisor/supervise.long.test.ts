import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkFolder } from '../../../gateway/commands/plugins/check.js';
import { PluginError } from '../../../gateway/plugins/registry.js';
import { processVariable } from '../../../gateway/supervisor/messages.js';
import { createBackOff } from '../../../gateway/supervisor/supervise.js';
import { skipWithout, until } from '../../needs.js';
import { answering } from '../answering.js';
import { bin, childrenOf, startChild } from '../harness.js';
import { closed } from '../raw-client.js';
import { callOnce, lives, startWorld, type World } from './world.js';

const loop = `import { writeSync } from 'node:fs';
const loop = () => { writeSync(2, 'looping\\n'); for (;;); };`;
const inline = `${loop}
export default { summary: 'Loops.', runs: 'inline', input: { type: 'object' }, handler: loop };`;
/** For the supervisor, loading the log takes longer than the end of a process that is killed. */
const slowLog = `import { register } from 'node:module';
const hooks = \`import { writeSync } from 'node:fs';
import { EOL } from 'node:os';
export async function resolve(specifier, context, next) {
  if (specifier.startsWith('./log-')) {
    writeSync(2, 'the log is slow' + EOL);
    await new Promise((done) => setTimeout(done, 3000));
  }
  return next(specifier, context);
}\`;
if (!process.env.${processVariable}) register('data:text/javascript,' + encodeURIComponent(hooks));`;
const watchdog = new URL('../../../pool/task-limits.js', import.meta.url).href;

describe('the supervisor', function () {
  this.timeout(120_000);
  let folder: string;
  let world: World | undefined;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'supervisor-'));
  });
  afterEach(async () => {
    await world?.end();
    world = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  async function start(env: Record<string, string> = {}) {
    world = await startWorld(env);
    return world;
  }

  /** `serve` with the folder, started by these words; it need not get as far as to serve. */
  function launch(...[command = process.execPath, ...words]: string[]) {
    const env = { HELPER_DATA_DIR: folder, HELPER_PLUGINS: folder, PORT: '0', CONNECT_PORT: '0' };
    const options = { env: { PATH: process.env.PATH, ...env } };
    return startChild(command, [...words, bin, 'serve', '--json'], options);
  }

  const light = ({ url, key }: World) => `${url}/text/diff-two-strings?a=1&b=2&ak=${key}`;

  it('starts another process where one crashes, on the same ports', async () => {
    const served = await start();
    process.kill(served.pids()[0] as number, 'SIGSEGV');
    await until(() => served.pids().length === 2);
    for (const url of [light(served), `${served.connect_url}/sign-in`])
      await until(async () => (await callOnce(url)) === 200);
    expect(served.lines('ended unasked')[0]).to.include({ process: 1, signal: 'SIGSEGV', restart_ms: 0 });
    expect(await served.stop()).to.equal(0);
  });

  it('leaves no port held once it is killed', async () => {
    const { pids, stop, url } = await start();
    const [pid = 0] = pids();
    expect(await stop('SIGKILL')).to.equal(null);
    await closed(url);
    await until(() => !lives(pid));
  });

  it('tries a start that fails again and again, with a wait, until it does not', async () => {
    await writeFile(join(folder, 'say.mjs'), answering(1));
    const { pids, lines, written } = await start({ HELPER_PLUGINS: folder });
    await writeFile(join(folder, 'say.mjs'), 'export default 7;');
    process.kill(pids()[0] as number, 'SIGKILL');
    await until(() => lines('ended unasked').length === 2);
    expect(lines('ended unasked')[1]).to.include({ code: 1, restart_ms: 1000 });
    expect(written()).to.include('must be a helper declaration');
    await writeFile(join(folder, 'say.mjs'), answering(2));
    await until(() => pids().length === 2);
  });

  it('goes on where a plugin sends its parent process a message of its own', async () => {
    await writeFile(join(folder, 'say.mjs'), `process.send?.('ready');\n${answering(1)}`);
    const served = await start({ HELPER_PLUGINS: folder });
    expect(await callOnce(`${served.url}/say?ak=${served.key}`)).to.equal(200);
    expect(served.pids()).to.have.length(1);
  });

  describe('on Linux', () => {
    before(function () {
      if (process.platform !== 'linux') skipWithout(this, 'Linux, which shows its processes as files');
    });

    it('goes on while the system has no room for another process, and starts it once it has', async function () {
      const limit = (pid: number, files: string) =>
        spawnSync('prlimit', ['--pid', `${pid}`, `--nofile=${files}`]);
      if (limit(process.pid, ':').error) skipWithout(this, 'the prlimit command');
      const { child, pids, written, ...served } = await start({ HELPER_PROCESSES: '2' });
      const { pid = 0 } = child;
      limit(pid, '8:4096');
      process.kill(pids()[1] as number, 'SIGKILL');
      await served.until(() => written().includes('no process could be started; it is tried again'));
      expect(lives(pids()[0] as number)).to.equal(true);
      limit(pid, '4096:4096');
      await served.until(() => pids().length === 3);
      expect(await served.stop()).to.equal(0);
    });

    it('has all listen on the first port again where all ended at once', async () => {
      const served = await start({ HELPER_PROCESSES: '2' });
      const { pid = 0 } = served.child;
      await until(() => childrenOf(pid).length === 2);
      for (const each of childrenOf(pid)) process.kill(each, 'SIGKILL');
      await until(async () => {
        await callOnce(light(served));
        const called = new Set(served.lines('"msg":"call"').map((line) => line.pid));
        return childrenOf(pid).filter((each) => called.has(each)).length === 2;
      });
    });

    it('ends at a signal that comes while it starts, as the first process of a container too', async function () {
      const namespace = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child'];
      const { status } = spawnSync('unshare', [...namespace.slice(1), 'true']);
      if (status !== 0) skipWithout(this, 'process namespaces (unshare -Urp)');
      // The start does not end before the signal.
      await writeFile(join(folder, 'slow.mjs'), 'setInterval(() => {}, 1000); await new Promise(() => {});');
      const child = launch(...namespace, process.execPath);
      const { pid = 0 } = child.process;
      const begun = await until(() => childrenOf(pid).find((each) => childrenOf(each).length > 0));
      process.kill(begun, 'SIGTERM');
      expect(await child.ended).to.equal(143);
    });

    for (const [signal, code] of [['SIGTERM', 143] as const, ['SIGKILL', null] as const]) {
      it(`leaves no process behind at ${signal} where an import never ends`, async () => {
        await writeFile(join(folder, 'loop.mjs'), `${loop}\nloop();`);
        const child = launch();
        await child.until(() => child.stderr().includes('looping'));
        const [serving = 0] = childrenOf(child.process.pid as number);
        expect(lives(serving)).to.equal(true);
        child.process.kill(signal);
        await until(() => !lives(serving));
        expect(await child.ended).to.equal(code);
      });
    }

    it('ends an inline helper that never ends at SIGTERM', async () => {
      await writeFile(join(folder, 'loop.mjs'), inline);
      const slow = `--import=data:text/javascript,${encodeURIComponent(slowLog)}`;
      const options = { HELPER_TASK_TIMEOUT_MS: '500', NODE_OPTIONS: slow };
      const served = await start({ HELPER_PLUGINS: folder, ...options });
      const [serving = 0] = served.pids();
      void callOnce(`${served.url}/loop?ak=${served.key}`);
      await served.until(() => served.written().includes('looping'));
      expect(await served.stop()).to.equal(1);
      expect(lives(serving)).to.equal(false);
      expect(served.written()).to.include('the log is slow');
      expect(served.lines('a process is killed')[0]).to.include({ process: 1, killed_pid: serving });
    });
  });

  it('has plugins check name an import that never ends, beside all other faults', async () => {
    await writeFile(join(folder, 'bad.mjs'), 'export default 1;');
    await writeFile(join(folder, 'loop.mjs'), 'for (;;);');
    const found = await checkFolder(folder, { lookMs: 100 });
    expect(found).to.be.instanceOf(PluginError);
    const reasons = (found as PluginError).problems.map(({ file, reason }) => `${file}: ${reason}`).sort();
    expect(reasons).to.have.length(2);
    expect(reasons[0]).to.match(/bad\.mjs: .*declaration/);
    expect(reasons[1]).to.match(/loop\.mjs: .*does a loop at its top never end/);
  });

  for (const ends of [true, false]) {
    it(`has a watchdog that names a loop, and ends the process where it is to: ${ends}`, async () => {
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
  it('is none at first, doubles for what ends again and again, and is none after a minute of life', () => {
    const waitAfter = createBackOff();
    const waits = [...Array(8).fill(10), 60_000, 10].map(waitAfter);
    expect(waits).to.deep.equal([0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 0, 1_000]);
  });
});
