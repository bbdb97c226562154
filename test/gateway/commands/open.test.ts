import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import { openAdmin } from '../../../gateway/commands/open-admin.js';
import { connect, createPostgresDatabase, requirePostgres } from '../databases.js';
import { runCommand } from '../harness.js';
import { run } from './terminal.js';

const lines = [
  ['tenants', 'create', 'acme'],
  ['keys', 'issue', 'demo'],
  ['keys', 'revoke', 'key_4fGhJ2kLm9Qr'],
];

/** A command in this process, with what it opens by its variables; `runCommand` starts a Node for each. */
async function runHere(args: string[], env: Record<string, string>) {
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, env);
  try {
    const { exitCode: code, stdout, stderr } = await run(openAdmin, ...args);
    return { code, stdout, stderr };
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

describe('commands where there is no gateway database', function () {
  this.timeout(30_000);
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('say so with the absolute path and how to go on, end with 1 and make none', async () => {
    const data = join(folder, 'data');
    const env = { HELPER_DATA_DIR: relative(process.cwd(), data) };
    const alone = ['operator', 'reset'];
    const ran = new Map([[alone, await runCommand(alone, env)]]);
    for (const line of lines) ran.set(line, await runHere(line, env));
    for (const [line, each] of ran) {
      expect(each, line.join(' ')).to.include({ code: 1, stdout: '' });
      expect(each.stderr).to.equal(
        `Error: There is no gateway database at ${data}/gateway.db. Run the gateway once, or set HELPER_DATA_DIR to the folder that has one.\n`,
      );
    }
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('say so as not_found with --json', async () => {
    const ran = await runHere(['tenants', 'list', '--json'], { HELPER_DATA_DIR: folder });
    expect(ran).to.include({ code: 1, stderr: '' });
    const { ok, error } = JSON.parse(ran.stdout);
    expect([ok, error.code]).to.deep.equal([false, 'not_found']);
    expect(error.message).to.include(`no gateway database at ${folder}/gateway.db`);
  });

  it('take an empty file for none, and leave it empty', async () => {
    await writeFile(join(folder, 'gateway.db'), '');
    const ran = await runHere(['tenants', 'list'], { HELPER_DATA_DIR: folder });
    expect(ran).to.include({ code: 1, stdout: '' });
    expect(ran.stderr).to.include(`no gateway database at ${folder}/gateway.db`);
  });

  it('say what keeps them from looking, and not that there is none', async () => {
    // As root tests may look everywhere, but nobody gets through a circle.
    const data = join(folder, 'data');
    await symlink(data, data);
    const ran = await runHere(['tenants', 'list'], { HELPER_DATA_DIR: data });
    expect(ran).to.include({ code: 1, stdout: '' });
    expect(ran.stderr).to.match(/^Error: The database .*gateway\.db cannot be opened: ELOOP/);
  });

  it('name all bad variables, one after the other', async () => {
    const ran = await runHere(['tenants', 'list'], { PORT: 'many', HELPER_RAET: '3' });
    expect(ran.stderr).to.equal(
      'Error: The configuration is not valid: PORT must be a whole number from 0 to 65535; 0 takes any free port; "HELPER_RAET" is not a variable of this gateway; did you mean "HELPER_RATE"?\n',
    );
    const asked = await runHere(['tenants', 'list', '--json'], { PORT: 'many' });
    expect(JSON.parse(asked.stdout).error).to.deep.equal({
      code: 'invalid_input',
      message:
        'The configuration is not valid: PORT must be a whole number from 0 to 65535; 0 takes any free port',
    });
  });

  it('work once it is there', async () => {
    await (await connect({ kind: 'sqlite', location: folder })).close();
    const ran = await runHere(['tenants', 'create', 'acme'], { HELPER_DATA_DIR: folder });
    expect(ran).to.include({ code: 0, stderr: '' });
  });
});

describe('commands where PostgreSQL holds no gateway', () => {
  before(requirePostgres);

  it('say so without the password, and make no tables', async () => {
    const database = await createPostgresDatabase();
    const url = new URL(database.location);
    url.password = 'hunter2';
    try {
      for (let time = 0; time < 2; time += 1) {
        const ran = await runHere(['tenants', 'list'], { DATABASE_URL: url.href });
        expect(ran).to.include({ code: 1, stdout: '' });
        expect(ran.stderr)
          .to.match(
            /^Error: There is no gateway database at postgres:\/\/[^@\s]+, schema helper_gateway_\w+\. .*\n$/,
          )
          .and.include('DATABASE_URL')
          .and.not.include('hunter2');
      }
      await database.connect();
      expect(await runHere(['tenants', 'list'], { DATABASE_URL: url.href })).to.include({ code: 0 });
    } finally {
      await database.drop();
    }
  });
});
