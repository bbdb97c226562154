import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkFolder } from '../../../gateway/commands/plugins/check.js';
import { PluginError } from '../../../gateway/helpers/plugin-error.js';
import { skipWithout } from '../../needs.js';
import { until } from '../../until.js';
import { startChild } from '../child.js';
import { bin } from '../gateway-process.js';
import { callOnce, lives, startWorld } from './world.js';

const loop = `import { writeSync } from 'node:fs';
const loop = () => { writeSync(2, 'looping\\n'); for (;;); };`;
const inline = `${loop}
export default { summary: 'Loops.', runs: 'inline', input: { type: 'object' }, handler: loop };`;
const watchdog = new URL('../../../pool/watchdog.js', import.meta.url).href;

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
