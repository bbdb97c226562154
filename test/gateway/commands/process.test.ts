import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { commandName, ignoreClosedPipe } from '../../../gateway/commands/process.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { bin } from '../harness.js';

describe('a command whose reader has gone', function () {
  this.timeout(30_000);
  let database: TestDatabase;

  before(async () => {
    database = await createSqliteDatabase();
    const store = await database.open();
    // More than a pipe holds.
    await store.change(async (tx) => {
      for (let n = 0; n < 3000; n += 1) {
        const limits = { rate: null, burst: null, monthly_quota: null, in_flight: null };
        const rest = { limits, weight: 1, webhook_version: 1, webhook_rotated_at: null };
        await tx.addTenant({ id: `ten_${n}`, name: `tenant-${n}`, created_at: 0, ...rest });
      }
    });
    await store.close();
  });
  after(() => database.drop());

  function start(...args: string[]) {
    const env = { PATH: process.env.PATH, HELPER_DATA_DIR: database.location };
    const child = spawn(process.execPath, [bin, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const ended = once(child, 'close').then(([code]) => ({ code, stderr }));
    return { child, ended };
  }

  for (const args of [
    ['tenants', 'list', '--json'],
    ['keys', '--help'],
  ]) {
    it(`ends quietly: ${args.join(' ')} | true`, async () => {
      const { child, ended } = start(...args);
      child.stdout.destroy();
      expect(await ended).to.deep.equal({ code: 0, stderr: '' });
    });
  }

  it('ends quietly: tenants list | head -1', async () => {
    const { child, ended } = start('tenants', 'list');
    child.stdout.once('data', () => child.stdout.destroy());
    expect(await ended).to.deep.equal({ code: 0, stderr: '' });
  });

  it('keeps its exit code where an error is not read', async () => {
    const { child, ended } = start('keys', 'list', 'nobody');
    child.stderr.destroy();
    expect((await ended).code).to.equal(1);
  });
});

describe('a stream whose reader may go', () => {
  for (const [code, outlives] of [
    ['EPIPE', true],
    ['EIO', true],
    ['ENOSPC', false],
  ] as const) {
    it(`${outlives ? 'is outlived' : 'is not'} where it fails with ${code}`, () => {
      const stream = new PassThrough();
      ignoreClosedPipe(stream);
      const fail = () => stream.emit('error', Object.assign(new Error(code), { code }));
      if (outlives) expect(fail).not.to.throw();
      else expect(fail).to.throw(code);
    });
  }
});

describe('hints of the command line', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'called-'));
  });
  after(() => rm(folder, { recursive: true }));

  /** As npx lays out what it keeps, with its note beside it. */
  async function kept(note: string): Promise<string> {
    const home = join(folder, '_npx', '1483d3c0');
    await mkdir(home, { recursive: true });
    await writeFile(join(home, 'package.json'), note);
    return commandName(
      pathToFileURL(join(home, 'node_modules', 'helper-gateway', 'dist', 'gateway', 'x.js')).href,
    );
  }

  it('name the command as it is in a checkout', () => {
    expect(commandName()).to.equal('npx helper-gateway');
  });

  it('name it so where the package is installed', () => {
    const file = join(folder, 'node_modules', 'helper-gateway', 'dist', 'gateway', 'x.js');
    expect(commandName(pathToFileURL(file).href)).to.equal('npx helper-gateway');
  });

  it('name the tarball where that is what npx was asked for', async () => {
    expect(await kept('{"_npx":{"packages":["./helper-gateway-1.0.0.tgz"]}}')).to.equal(
      'npx ./helper-gateway-1.0.0.tgz',
    );
  });

  for (const note of ['{}', '{"_npx":{}}', '{', 'null']) {
    it(`do without what npx notes, should it be ${note}`, async () => {
      expect(await kept(note)).to.equal('npx helper-gateway');
    });
  }
});
