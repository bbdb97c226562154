import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { freePorts, until } from '../needs.js';
import { root } from '../readme.js';
import { runCommand, startGatewayProcess, startTestGateway } from './harness.js';

describe('what a process loads', function () {
  // Processes start, one after the other.
  this.timeout(30_000);

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

  const bundle = '/dist/bundle/';
  const { modules } = JSON.parse(
    readFileSync(new URL('../../bundle/built.json', import.meta.url), 'utf8'),
  ) as { modules: Record<string, string[]> };

  /** Files in their order, of the main thread or of a worker; in place of a chunk the modules that it holds. */
  function loadedBy(thread: number): string[] {
    const file = join(folder, `loaded.${thread}`);
    const files = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    return files.flatMap((name) => modules[name.split(bundle)[1] ?? ''] ?? name);
  }

  function firstOf(files: readonly string[], part: string): number {
    return files.findIndex((file) => file.includes(part));
  }

  function packagesIn(files: readonly string[]): string[] {
    const names = files.map((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]);
    return [...new Set(names.filter((name) => name !== undefined))];
  }

  it('is for help the command line alone', async () => {
    expect((await runCommand(['--help'], env)).code).to.equal(0);
    expect(packagesIn(loadedBy(0))).to.deep.equal(['commander']);
  });

  it('is for a start what it needs, and what first calls need once it listens', async () => {
    const gateway = await startGatewayProcess(env);
    const threads = Array.from({ length: 8 }, (_, index) => index + 1);
    const worker = () => threads.map(loadedBy).find((files) => firstOf(files, 'pool/worker.ts') >= 0) ?? [];
    // The last that is loaded for the first calls.
    await until(() => firstOf(worker(), 'image/text/overlay.ts') >= 0);
    await gateway.stop();

    const main = loadedBy(0);
    const never = [
      ...'openid-client @modelcontextprotocol jimp pg ioredis bullmq pino-pretty'.split(' '),
      ...'@opentelemetry/sdk-trace-base @opentelemetry/sdk-trace @opentelemetry/core'.split(' '),
    ];
    for (const name of never) expect(firstOf(main, `node_modules/${name}/`), name).to.equal(-1);
    // The helpers are the last that is loaded before it listens.
    const listening = firstOf(main, 'plugins/text/');
    expect(listening).to.be.greaterThan(0);
    expect(firstOf(main, 'node_modules/undici/')).to.be.greaterThan(listening);
    // Loaded while the first thread starts.
    expect(firstOf(main, 'node_modules/koa-body/')).to.be.greaterThan(0);
    const plugins = firstOf(worker(), 'plugins/text/');
    expect(plugins).to.be.greaterThan(0);
    for (const part of ['node_modules/ajv/', 'node_modules/fontkitten/', 'image/text/overlay.ts']) {
      expect(firstOf(worker(), part), part).to.be.greaterThan(plugins);
    }
  });
});

describe('a start', () => {
  it('answers what is asked of the key site before the site is made, and is ready only when both ports serve', async () => {
    const [port = 0, connectPort = 0] = await freePorts(2);
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status;
    // As soon as anything listens.
    const siteAnswer = until(() => fetch(`http://127.0.0.1:${connectPort}/sign-in`).catch(() => undefined));
    const starting = startTestGateway({ PORT: String(port), CONNECT_PORT: String(connectPort) });
    expect(await Promise.race([starting, until(ready)])).to.equal(503);
    expect((await siteAnswer).status).to.equal(200);
    const api = await starting;
    expect(await ready()).to.equal(200);
    await api.close();
  });
});

it('the command and the build refuse a Node that is too old, and name the one that is needed', () => {
  /** Runs a script as if this Node were another one. */
  function runAs(version: string, script: string) {
    const pretend = `Object.defineProperty(process, 'version', { value: '${version}' })`;
    const url = `data:text/javascript,${encodeURIComponent(pretend)}`;
    const args = ['--import', url, script, '--version'];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    return { status, stderr };
  }
  for (const version of ['18.19.0', '20.18.3'])
    for (const script of ['gateway/bin.cjs', '.build/build.mjs']) {
      const stderr = `helper-gateway needs Node 20.19 or later; this is ${version}\n`;
      expect(runAs(`v${version}`, script)).to.deep.equal({ status: 1, stderr });
    }
  for (const version of ['20.19.0', '22.1.0', '100.0.0'])
    expect(runAs(`v${version}`, 'gateway/bin.cjs'), version).to.deep.equal({ status: 0, stderr: '' });
}).timeout(30_000);
