import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import sharp from 'sharp';

const bin = fileURLToPath(new URL('../../../../gateway/bin.cjs', import.meta.url));
const calls = 40;

describe('a gateway that works on pictures', function () {
  this.timeout(120_000);
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'launch-'));
  });
  after(() => rm(dataDir, { recursive: true }));

  it('does not collect its whole heap for each of them', async () => {
    const child = spawn(process.execPath, ['--trace-gc', bin, 'serve', '--json'], {
      env: {
        PATH: process.env.PATH,
        PORT: '0',
        CONNECT_PORT: '0',
        HELPER_DATA_DIR: dataDir,
        HELPER_POOL_THREADS: '1',
        HELPER_DRAIN_MS: '0',
        LOG_LEVEL: 'warn',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const collections = new Map<string, number>();
    const started = new Promise<{ url: string; first_key: { key: string } }>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        // Of each thread; not those of V8's clock, "(reduce)", of which there are more the longer this takes.
        const [, thread] = /\[(\d+:0x[\da-f]+)\].* Mark-Compact \d/.exec(line) ?? [];
        if (thread) collections.set(thread, (collections.get(thread) ?? 0) + 1);
        // V8 writes as its buffer fills, so that half a line of its may stand before.
        const [report] = /\{"ok":true.*/.exec(line) ?? [];
        if (report) resolve(JSON.parse(report).data);
      });
    });
    const { url, first_key } = await started;
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
    child.kill('SIGTERM');
    await once(child, 'close');
    expect(collections).to.not.have.property('size', 0);
    expect(Math.max(...collections.values())).to.be.lessThan(calls / 4);
  });
});
