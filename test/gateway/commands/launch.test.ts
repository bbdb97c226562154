import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import sharp from 'sharp';
import { skipWithout } from '../../needs.js';
import { bin, startChild } from '../harness.js';

const calls = 20;

describe('a gateway that works on pictures', function () {
  this.timeout(120_000);
  it('does not collect its whole heap for each of them', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'launch-'));
    const ports = { PORT: '0', CONNECT_PORT: '0', HELPER_DRAIN_MS: '0' };
    const child = startChild(process.execPath, ['--trace-gc', bin, 'serve', '--json'], {
      env: { ...ports, HELPER_DATA_DIR: dataDir, HELPER_POOL_THREADS: '1', LOG_LEVEL: 'warn' },
    });
    // V8 writes as its buffer fills, so that half a line of its may stand before.
    const [report] = await child.until(() => /\{"ok":true.*(?=\n)/.exec(child.stdout()));
    const { url, first_key } = JSON.parse(report).data;
    const create = { width: 1500, height: 1500, channels: 3, background: '#888' } as const;
    const body = new FormData();
    body.set('file', new Blob([new Uint8Array(await sharp({ create }).jpeg().toBuffer())]), 'picture');
    body.set('text', 'x');
    body.set('format', 'jpg');
    for (let done = 0; done < calls; done += 1) {
      const response = await fetch(`${url}/media/add-watermark?ak=${first_key.key}`, {
        method: 'POST',
        body,
      });
      expect(response.status).to.equal(200);
      await response.arrayBuffer();
    }
    child.process.kill('SIGTERM');
    await child.ended;
    await rm(dataDir, { recursive: true });
    // Of each thread; not those of V8's clock, "(reduce)", of which there are more the longer this takes.
    const collections = new Map<string, number>();
    for (const [, thread = ''] of child.stdout().matchAll(/\[(\d+:0x[\da-f]+)\].* Mark-Compact \d/g)) {
      collections.set(thread, (collections.get(thread) ?? 0) + 1);
    }
    expect(collections).to.not.have.property('size', 0);
    expect(Math.max(...collections.values())).to.be.lessThan(calls / 4);
  });
});

const script = fileURLToPath(new URL('../../../../gateway/commands/prepare-threads.cjs', import.meta.url));

/** Prints the nice values of the process's threads, the main thread's first. */
const print = `
const { readdirSync, readFileSync } = require('node:fs');
const niceOf = (thread) => {
  const stat = readFileSync('/proc/self/task/' + thread + '/stat', 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
};
const others = readdirSync('/proc/self/task').filter((thread) => Number(thread) !== process.pid);
console.log(JSON.stringify([process.pid, ...others].map(niceOf)));
`;

describe('libuv’s threads', () => {
  it('yield to the main thread, on Linux, and no others do', function () {
    if (process.platform !== 'linux') skipWithout(this, 'Linux');
    const { stdout } = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(script)});${print}`], {
      encoding: 'utf8',
      env: { ...process.env, UV_THREADPOOL_SIZE: '3' },
    });
    const [main = 0, ...others] = JSON.parse(stdout) as number[];
    expect(others.filter((nice) => nice > main)).to.have.lengthOf(3);
    expect(others.filter((nice) => nice === main)).to.have.lengthOf(others.length - 3);
  });
});
