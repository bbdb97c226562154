import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { runCommand, startGatewayProcess } from './gateway-process.js';

describe('what a process loads', () => {
  let folder: string;
  let env: Record<string, string>;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    env = {
      HELPER_DATA_DIR: folder,
      NODE_OPTIONS: `--require "${fixture('loaded.cjs')}"`,
      TEST_LOADED: join(folder, 'loaded'),
    };
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Files in their order, of the main thread or of a worker. */
  function loadedBy(thread: number): string[] {
    const file = join(folder, `loaded.${thread}`);
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  }

  function firstOf(files: readonly string[], part: string): number {
    return files.findIndex((file) => file.includes(part));
  }

  function packagesIn(files: readonly string[]): string[] {
    const names = files.map((file) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]);
    return [...new Set(names.filter((name) => name !== undefined))];
  }

  it('is for help the command line alone', async () => {
    expect((await runCommand(['--help'], env)).code).to.equal(0);
    expect(packagesIn(loadedBy(0))).to.deep.equal(['commander']);
  });

  it('is for a start what it needs, and what first calls need once it listens', async () => {
    const gateway = await startGatewayProcess(env);
    const threads = Array.from({ length: 8 }, (_, index) => index + 1);
    const worker = () =>
      threads.map(loadedBy).find((files) => firstOf(files, '/dist/pool/worker.js') >= 0) ?? [];
    // The last that is loaded for the first calls.
    while (firstOf(worker(), '/text/overlay.js') < 0) await sleep(200);
    await gateway.stop();

    const main = loadedBy(0);
    const never = [
      'better-auth/dist/auth',
      '@modelcontextprotocol',
      'jimp',
      'pg',
      'ioredis',
      'bullmq',
      'pino-pretty',
      '@opentelemetry/sdk-trace-base',
      '@opentelemetry/sdk-trace',
      '@opentelemetry/core',
    ];
    for (const name of never) expect(firstOf(main, `/node_modules/${name}/`), name).to.equal(-1);
    // The first operator's password is hashed when all listens.
    const listening = firstOf(main, '/node_modules/better-auth/dist/crypto/');
    expect(listening).to.be.greaterThan(0);
    for (const name of ['koa-body', 'undici']) {
      expect(firstOf(main, `/node_modules/${name}/`), name).to.be.greaterThan(listening);
    }
    const plugins = firstOf(worker(), '/dist/plugins/');
    expect(plugins).to.be.greaterThan(0);
    for (const part of ['/node_modules/ajv/', '/node_modules/fontkitten/', '/text/overlay.js']) {
      expect(firstOf(worker(), part), part).to.be.greaterThan(plugins);
    }
  });
});
