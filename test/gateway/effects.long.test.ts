import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeEffectHelpers } from './effect-helpers.js';
import { runCommand, startTestGateway, type TestGateway } from './harness.js';
import { master } from './signing/signing.js';

describe('a helper with effects', () => {
  let folder: string;
  let plugins: string;
  let calls: () => Promise<string[]>;
  let env: Record<string, string>;
  let api: TestGateway;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'effects-'));
    ({ plugins, calls } = await writeEffectHelpers(folder));
    env = {
      HELPER_PLUGINS: plugins,
      HELPER_SIGNING_SECRET: master,
      HELPER_DATA_DIR: join(folder, 'data'),
    };
    api = await startTestGateway(env);
  });
  after(async () => {
    await api.close();
    await rm(folder, { recursive: true });
  });
  beforeEach(() => rm(join(folder, 'calls'), { force: true }));

  it('is in no url that is signed from the command line', async () => {
    const kid = api.gateway.firstKey?.id ?? '';
    const signed = await runCommand(['sign', '/act/notify?to=a', '--key', kid, '--json'], env);
    expect(JSON.parse(signed.stdout).error.message).to.match(/^url names act\/notify, .* takes POST alone/);
  });

  it('is called from the command line, here and there, with its parameters known', async () => {
    const here = await runCommand(['call', 'act/notify', '--to', 'here'], { HELPER_PLUGINS: plugins });
    const server = ['call', '--server', api.url, '--key', api.key, 'act/notify'];
    const there = await runCommand([...server, '--to', 'there'], {});
    expect([here.code, there.code]).to.deep.equal([0, 0]);
    expect(await calls()).to.deep.equal(['here', 'there']);
    const help = await runCommand([...server, '--help'], {});
    expect(help.stdout).to.match(/--to VALUE +To whom/);
  });

  it('is named by plugins check, and called by plugins test where that is asked for', async () => {
    const check = await runCommand(['plugins', 'check', plugins], {});
    expect(check.stdout).to.match(/act\/notify .*\n +effects: POST only, an item of a job runs at most once/);
    const tried = await runCommand(['plugins', 'test', plugins, '--runs', '3', '--effects'], {});
    expect(tried.code).to.equal(0);
    expect(await calls()).to.include('example');
  });
});
