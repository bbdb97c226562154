import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import inspector from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { type CallOptions, callPlugin } from '../../pool/call-plugin.js';
import { guard } from '../../pool/plugin.js';
import { fixture } from '../fixtures.js';
import { rejection } from '../gateway/download/raw-server.js';
import { PlainScope } from './context/plain-scope.js';
import { callTask, dataOf, poolOf, run, workerSettings } from './worker-settings.js';

const child = fileURLToPath(new URL('./fault-child.js', import.meta.url));

const runChild = (when: string) =>
  spawnSync(process.execPath, [child, when], { encoding: 'utf8', timeout: 110_000 });

describe('the fault guard', () => {
  for (const [when, outcome, what] of [
    ['early', 'failed', 'fails work for whatever it lets escape'],
    ['late', 'ended, reported', 'reports what escapes after the end, and nothing more happens'],
  ] as const) {
    it(what, () => {
      const { status, stdout } = runChild(when);
      expect(status).to.equal(0);
      expect(new Set(Object.values(JSON.parse(stdout)))).to.deep.equal(new Set([outcome]));
    });
  }

  it('leaves alone what comes from no work: it ends the process', () => {
    const { status, stderr } = runChild('own');
    expect(status).to.be.above(0);
    expect(stderr).to.include('escaped');
  });

  describe('of work that takes long', () => {
    // Its timers keep no process alive.
    const keepAlive = setInterval(() => undefined, 1000);
    after(() => clearInterval(keepAlive));

    it('fails it when its time is up, and reports that then', async () => {
      const reports: string[] = [];
      const options = { name: 'text/x', timeoutMs: 20, onTime: () => void reports.push('time') };
      expect(await rejection(guard(options, () => new Promise(() => undefined)))).to.include({
        code: 'helper_timeout',
        message: 'text/x did not settle within 20 ms',
      });
      expect(reports).to.deep.equal(['time']);
    });

    it('lets it go on past its time while a debugger is attached', async () => {
      inspector.open(0);
      try {
        expect(await guard({ name: 'x', timeoutMs: 1 }, () => sleep(20, 'went on'))).to.equal('went on');
      } finally {
        inspector.close();
      }
    });
  });
});

describe('callPlugin', () => {
  it('reads the engine, which may then be loaded, for a picture alone', async () => {
    let reads = 0;
    const options: CallOptions = {
      get engine() {
        reads += 1;
        return Promise.reject(new Error('no engine'));
      },
      limits: { maxPixels: 1e6, maxFrames: 10 },
      maxJsonBytes: 1000,
    };
    const parts = { config: {}, state: undefined, redactor: undefined };
    const files = { file: { bytes: new Uint8Array(1), type: 'image/png' } };
    const call = (source?: 'image') => {
      const plugin = { source, handler: () => ({}) };
      const loaded = { service: 'some', plugin, shipped: false, parts };
      return callPlugin(loaded, { ...callTask('some'), files }, new PlainScope(), options);
    };
    await call();
    expect(reads).to.equal(0);
    expect([(await rejection(call('image'))).message, reads]).to.deep.equal(['no engine', 1]);
  });
});

describe('plugins in TypeScript, in worker threads', () => {
  it('run as they are, with what they import from their folder, and know the line they were written on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await cp(fixture('plugins/typescript/good'), folder, { recursive: true });
    const helperUrl = new URL('../../gateway/helper.js', import.meta.url).href;
    const pool = poolOf({ worker: { ...workerSettings, helperUrl } });
    const call = async (file: string, input: Record<string, unknown>) =>
      dataOf(await run(pool, callTask(file, input, pathToFileURL(join(folder, file)).href)));
    try {
      await pool.start();
      expect(await call('text/shout.ts', { text: 'one two' })).to.deep.equal({ text: 'ONE TWO!!!' });
      const titled = await call('text/titled/index.mts', { a: 1, b: 2 });
      expect(titled).to.deep.equal({ title: '2 fields', at: '7:58' });
    } finally {
      await pool.close();
      await rm(folder, { recursive: true });
    }
  });
});
