import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { commandName, ignoreClosedPipe } from '../../../gateway/commands/process.js';
import { newTenant } from '../../../gateway/keys/model.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { bin, startChild } from '../harness.js';

describe('a command whose reader has gone', function () {
  this.timeout(30_000);
  let database: TestDatabase;

  before(async () => {
    database = await createSqliteDatabase();
    const store = await database.open();
    // More than a pipe holds.
    await store.change(async (tx) => {
      const rest = { created_at: 0, ...newTenant };
      for (let n = 0; n < 3000; n += 1) await tx.addTenant({ id: `ten_${n}`, name: `tenant-${n}`, ...rest });
    });
    await store.close();
  });
  after(() => database.drop());

  const start = (command: string) => {
    const env = { PATH: process.env.PATH, HELPER_DATA_DIR: database.location };
    return startChild(process.execPath, [bin, ...command.split(' ')], { env });
  };

  for (const [command, reader] of [
    ['tenants list --json', 'true'],
    ['keys --help', 'true'],
    ['tenants list', 'head -1'],
  ] as const) {
    it(`ends quietly: ${command} | ${reader}`, async () => {
      const { process: own, ended, stderr } = start(command);
      if (reader === 'true') own.stdout?.destroy();
      else own.stdout?.once('data', () => own.stdout?.destroy());
      expect([await ended, stderr()]).to.deep.equal([0, '']);
    });
  }

  it('keeps its exit code where an error is not read', async () => {
    const { process: own, ended } = start('keys list none');
    own.stderr?.destroy();
    expect(await ended).to.equal(1);
  });

  it('ends with any other fault of its output', () => {
    const stream = new PassThrough();
    ignoreClosedPipe(stream);
    const fail = (code: string) => stream.emit('error', Object.assign(new Error(code), { code }));
    for (const code of ['EPIPE', 'EIO']) expect(() => fail(code)).not.to.throw();
    expect(() => fail('ENOSPC')).to.throw('ENOSPC');
  });
});

describe('hints of the command line', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'called-'));
  });
  after(() => rm(folder, { recursive: true }));

  const commandIn = (project: string) =>
    commandName(pathToFileURL(join(project, 'node_modules/helper-gateway/dist/gateway/x.js')).href);

  it('name the command of a checkout and of an installed package', () => {
    expect(commandName()).to.equal('npx helper-gateway');
    expect(commandIn(folder)).to.equal('npx helper-gateway');
  });

  for (const [note, name] of [
    ['{"_npx":{"packages":["./helper-gateway-1.0.0.tgz"]}}', './helper-gateway-1.0.0.tgz'],
    ['{}', 'helper-gateway'],
    ['{"_npx":{}}', 'helper-gateway'],
    ['{', 'helper-gateway'],
    ['null', 'helper-gateway'],
  ] as const) {
    it(`name ${name} where npx has noted ${note}`, async () => {
      const home = join(folder, '_npx', '1483d3c0');
      await mkdir(home, { recursive: true });
      await writeFile(join(home, 'package.json'), note);
      expect(commandIn(home)).to.equal(`npx ${name}`);
    });
  }
});
