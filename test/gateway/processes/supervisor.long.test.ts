import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { skipWithout } from '../../needs.js';
import { until } from '../../until.js';
import { startChild } from '../child.js';
import { bin } from '../gateway-process.js';
import { callOnce, lives, startWorld } from './world.js';

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
