import { execFileSync } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import sharp from 'sharp';
import { openLocalHelpers } from '../../../gateway/commands/open-local.js';
import { loadConfig } from '../../../gateway/config.js';
import type { LocalHelpers } from '../../../gateway/local-helpers.js';
import { createLocalTools } from '../../../gateway/mcp/local-tools.js';
import { fixture } from '../../fixtures.js';

const example = fileURLToPath(new URL('../../../../plugins/media/example.jpg', import.meta.url));
const { signal } = new AbortController();

describe('tools of helpers in this process', () => {
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => void log.push(JSON.parse(line)) });
  let helpers: LocalHelpers;
  let images: Server;
  let url: string;
  let out: string;

  before(async () => {
    out = await mkdtemp(join(tmpdir(), 'tools-'));
    const create = { width: 900, height: 900, channels: 3, background: '#000' } as const;
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
    const large = await sharp({ create: { ...create, noise } })
      .jpeg()
      .toBuffer();
    images = createServer((_, response) => void response.end(large));
    await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
    const config = loadConfig({
      HELPER_POOL_THREADS: '1',
      HELPER_SOURCE_ORIGINS: url,
      HELPER_PLUGINS: fixture('plugins/agents'),
    });
    helpers = await openLocalHelpers(config, logger);
  });

  after(async () => {
    await helpers.close();
    images.close();
    await rm(out, { recursive: true });
  });

  it('say so where a file cannot be written, and give the rest of the answer', async () => {
    const none = join(out, 'none');
    const tools = createLocalTools({ helpers, out: none, files: undefined, logger });
    const { content = [] } = (await tools.call('media_add-border', `{"url":"${url}/large"}`, signal)) ?? {};
    expect(content.map(({ type }) => type)).to.deep.equal(['image', 'text']);
    expect(JSON.stringify(content[1])).to.include(`It could not be written: there is no folder ${none}.`);
  });

  it('write files whole under names of their own, and link them', async () => {
    const tools = createLocalTools({ helpers, out, files: undefined, logger });
    const results = await Promise.all(
      [1, 2].map(() => tools.call('media_add-border', `{"url":"${url}/large"}`, signal)),
    );
    const links = results.flatMap((result) => {
      const content = result?.content ?? [];
      expect(content.map(({ type }) => type)).to.deep.equal(['image', 'text', 'resource_link']);
      return content.filter((each) => each.type === 'resource_link');
    });
    expect((await readdir(out)).sort()).to.deep.equal(['add-border-2.png', 'add-border.png']);
    for (const { uri } of links) {
      const bytes = await readFile(fileURLToPath(uri));
      expect((await sharp(bytes).metadata()).width).to.equal(940);
    }
  });

  it('take files by their paths below the folder that they may', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pictures-'));
    await copyFile(example, join(folder, 'a.jpg'));
    await symlink(example, join(folder, 'link.jpg'));
    const files = { folder, maxBytes: 1_000_000 };
    const tools = createLocalTools({ helpers, out: undefined, files, logger });
    expect(tools.list().find(({ name }) => name === 'media_add-border')?.description).to.include(folder);
    const border = async (path: string) => {
      const result = await tools.call(
        'media_add-border',
        JSON.stringify({ url: path, format: 'jpg' }),
        signal,
      );
      return result?.isError ? JSON.stringify(result.content) : 'done';
    };
    for (const path of ['a.jpg', join(folder, 'a.jpg'), `file://${folder}/a.jpg`]) {
      expect(await border(path), path).to.equal('done');
    }
    for (const path of [
      example,
      '../a.jpg',
      'link.jpg',
      'b.jpg',
      '.',
      '',
      `file://${example}`,
      'file://x/a',
    ]) {
      expect(await border(path), path).to.include(`url must be a file below ${folder}`);
    }
    expect(await border('ftp://example.com/a.jpg')).to.include('https');
    await rm(folder, { recursive: true });
  });

  it('take regular files alone, and wait for nothing else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pictures-'));
    execFileSync('mkfifo', [join(folder, 'pipe.jpg')]);
    await symlink(join(folder, 'pipe.jpg'), join(folder, 'link.jpg'));
    await symlink(folder, join(folder, 'self.jpg'));
    for (const [below, path] of [
      [folder, 'pipe.jpg'],
      [folder, 'link.jpg'],
      [folder, 'self.jpg'],
      ['/dev', 'zero'],
      ['/proc', 'self/fd/0'],
      ['/proc', 'self/task'],
    ] as const) {
      const files = { folder: below, maxBytes: 1_000_000 };
      const tools = createLocalTools({ helpers, out: undefined, files, logger });
      const result = await tools.call('media_add-border', JSON.stringify({ url: path }), signal);
      expect(JSON.stringify(result), path).to.include(`url must be a file below ${below}`);
    }
    const files = { folder: '/proc/self', maxBytes: 1_000_000 };
    const tools = createLocalTools({ helpers, out: undefined, files, logger });
    const result = await tools.call('media_add-border', '{"url":"status"}', signal);
    expect(JSON.stringify(result)).to.include('bad_image');
    await rm(folder, { recursive: true });
  });

  it('say how to have them where none are written', async () => {
    const tools = createLocalTools({ helpers, out: undefined, files: undefined, logger });
    const result = await tools.call('file', '{"bytes":400000}', signal);
    expect(result?.content).to.have.length(1);
    expect(JSON.stringify(result?.content)).to.include('--out DIR');
  });

  it('keep the reason of a fault for the log', async () => {
    const tools = createLocalTools({ helpers, out, files: undefined, logger });
    const result = await tools.call('broken', '{}', signal);
    expect(result?.isError).to.equal(true);
    expect(JSON.stringify(result)).not.to.include('secret reason');
    expect(JSON.stringify(log)).to.include('secret reason');
  });

  it('are unknown by any other name', () => {
    expect(
      createLocalTools({ helpers, out, files: undefined, logger }).call('nothing', '{}', signal),
    ).to.equal(undefined);
  });
});
