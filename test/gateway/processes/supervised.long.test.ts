import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeFolder } from '../../../gateway/make-folder.js';
import { until } from '../../until.js';
import { closed } from '../held-call.js';
import { answering } from '../helpers/reload-world.js';
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
