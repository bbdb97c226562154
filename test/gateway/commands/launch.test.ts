import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { startChild } from '../child.js';
import { bin } from '../gateway-process.js';

const calls = 20;

describe('a gateway that works on pictures', function () {
  this.timeout(120_000);
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'launch-'));
  });
  after(() => rm(dataDir, { recursive: true }));

  it('does not collect its whole heap for each of them', async () => {
    const child = startChild(process.execPath, ['--trace-gc', bin, 'serve', '--json'], {
      env: {
        PATH: process.env.PATH,
        PORT: '0',
        CONNECT_PORT: '0',
        HELPER_DATA_DIR: dataDir,
        HELPER_POOL_THREADS: '1',
        HELPER_DRAIN_MS: '0',
        LOG_LEVEL: 'warn',
      },
    });
    // V8 writes as its buffer fills, so that half a line of its may stand before.
    const [report] = await child.until(() => /\{"ok":true.*(?=\n)/.exec(child.stdout()));
    const { url, first_key } = JSON.parse(report).data;
    const picture = await sharp({ create: { width: 1500, height: 1500, channels: 3, background: '#888' } })
      .jpeg()
      .toBuffer();
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(picture)]), 'picture');
    form.set('text', 'x');
    form.set('format', 'jpg');
    for (let done = 0; done < calls; done += 1) {
      const target = `${url}/media/add-watermark?ak=${first_key.key}`;
      const response = await fetch(target, { method: 'POST', body: form });
      expect(response.status).to.equal(200);
      await response.arrayBuffer();
    }
    child.process.kill('SIGTERM');
    await child.ended;
    // Of each thread; not those of V8's clock, "(reduce)", of which there are more the longer this takes.
    const collections = new Map<string, number>();
    for (const [, thread = ''] of child.stdout().matchAll(/\[(\d+:0x[\da-f]+)\].* Mark-Compact \d/g)) {
      collections.set(thread, (collections.get(thread) ?? 0) + 1);
    }
    expect(collections).to.not.have.property('size', 0);
    expect(Math.max(...collections.values())).to.be.lessThan(calls / 4);
  });
});
