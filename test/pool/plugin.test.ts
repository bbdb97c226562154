import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type CallOptions, callPlugin } from '../../pool/call-plugin.js';
import { guard } from '../../pool/plugin.js';
import { PlainScope } from './context/plain-scope.js';

const child = fileURLToPath(new URL('./fault-child.js', import.meta.url));

function run(when: string): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [child, when], { encoding: 'utf8', timeout: 110_000 });
}

describe('the fault guard', () => {
  it('fails work for whatever it lets escape', () => {
    const { status, stdout } = run('early');
    expect(status).to.equal(0);
    expect(new Set(Object.values(JSON.parse(stdout)))).to.deep.equal(new Set(['failed']));
  });

  it('tells what escapes after the end, and nothing more happens', () => {
    const { status, stdout } = run('late');
    expect(status).to.equal(0);
    expect(new Set(Object.values(JSON.parse(stdout)))).to.deep.equal(new Set(['ended, told']));
  });

  it('leaves alone what comes from no work: it ends the process', () => {
    const { status, stderr } = run('own');
    expect(status).to.be.above(0);
    expect(stderr).to.include('escaped');
  });

  it('fails work that does not settle in time', async () => {
    const keepAlive = setInterval(() => undefined, 1000);
    const error = await guard({ name: 'text/x', timeoutMs: 20 }, () => new Promise(() => undefined)).catch(
      (thrown) => thrown,
    );
    clearInterval(keepAlive);
    expect(error).to.include({ code: 'helper_timeout', message: 'text/x did not settle within 20 ms' });
  });

  it('says when the time is up, once the work has failed', async () => {
    const keepAlive = setInterval(() => undefined, 1000);
    const told = await new Promise((resolve) => {
      const options = { name: 'x', timeoutMs: 1, onTime: () => resolve('told') };
      guard(options, () => new Promise(() => undefined)).catch(() => undefined);
    });
    clearInterval(keepAlive);
    expect(told).to.equal('told');
  });

  it('lets work go on past its time where that is paused', async () => {
    const keepAlive = setInterval(() => undefined, 1000);
    let go: (value: string) => void;
    const work = new Promise<string>((resolve) => {
      go = resolve;
    });
    const isPaused = () => {
      setImmediate(() => go('went on'));
      return true;
    };
    expect(await guard({ name: 'x', timeoutMs: 1, isPaused }, () => work)).to.equal('went on');
    clearInterval(keepAlive);
  });

  it('gives what the work gives, and throws what it throws', async () => {
    expect(await guard({ name: 'x' }, async () => 7)).to.equal(7);
    const thrown = { not: 'an error' };
    expect(await guard({ name: 'x' }, () => Promise.reject(thrown)).catch((error) => error)).to.equal(thrown);
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
    const context = { service: 'some', request_id: 'r' };
    const call = (source?: 'image') =>
      callPlugin(
        {
          service: 'some',
          plugin: { source, handler: () => ({}) },
          shipped: false,
          parts: { config: {}, state: undefined, redactor: undefined },
        },
        {
          kind: 'call',
          plugin: 'file:///some.mjs',
          does: 'handler',
          input: {},
          context,
          files: { file: { bytes: new Uint8Array(1), type: 'image/png' } },
        },
        new PlainScope(),
        options,
      );
    await call();
    expect(reads).to.equal(0);
    const error = await call('image').catch((thrown) => thrown);
    expect([error.message, reads]).to.deep.equal(['no engine', 1]);
  });
});
