import { expect } from 'chai';
import { Command } from 'commander';
import { registerAccessCommands } from '../../../gateway/commands/access.js';
import { openPeople } from '../../../gateway/commands/open-admin.js';
import type { Terminal } from '../../../gateway/commands/output.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createFirstOperator } from '../../../gateway/site/accounts/account.js';
import { createSqliteDatabase, type OpenedStore, type TestDatabase } from '../databases.js';
import { compileRecipe } from '../keys/recipe-compiler.js';
import { signing } from '../signing/signing.js';
import { createTestMembers, goodPassword } from '../site/members.js';
import { type OpenedSiteDatabase, openConnectDatabase } from '../site/test-site.js';
import '../site/quick-passwords.js';

describe('commands: who may use the site', () => {
  let database: TestDatabase;
  let store: OpenedStore;
  let connect: OpenedSiteDatabase;
  beforeEach(async () => {
    database = await createSqliteDatabase();
    store = await database.open();
    connect = await openConnectDatabase(database);
    const admin = createKeyAdmin({ store, services: () => [], signing, compileRecipe });
    await admin.createTenant('acme', 'test');
    await createFirstOperator(connect);
  });
  afterEach(async () => {
    await connect.close();
    await database.drop();
  });

  async function run(...args: string[]) {
    const ran = { stdout: '', stderr: '', exitCode: 0 };
    const terminal: Terminal = {
      stdout: { write: (text) => (ran.stdout += text) },
      stderr: { write: (text) => (ran.stderr += text) },
      setExitCode: (exitCode) => void Object.assign(ran, { exitCode }),
      exit: (exitCode) => void Object.assign(ran, { exitCode }),
    };
    const program = new Command('helper-gateway');
    const env = {
      HELPER_DATA_DIR: database.location,
      HELPER_CONNECT_URL: 'https://keys.example.com',
    };
    registerAccessCommands(program, () => openPeople(env), terminal);
    await program.parseAsync(args, { from: 'user' });
    return ran;
  }
  const dataOf = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout).data;
  const lastEntry = async () => (await store.audit({ limit: 1 }))[0];

  it('operator notices-secret prints the secret alone, which is noted', async () => {
    const { stdout, stderr } = await run('operator', 'notices-secret');
    expect(stdout).to.match(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
    expect(stderr).to.include('HELPER_NOTICES_URL');
    expect(await lastEntry()).to.include({ action: 'operator.notices_secret', tenant_id: null });
    expect((await dataOf('operator', 'notices-secret')).webhook_secret).to.equal(stdout.trim());
  });

  it('operator reset prints the password alone, and its user stands in the audit log', async () => {
    const { stdout, stderr } = await run('operator', 'reset');
    expect(stdout).to.match(/^([a-z2-9]{5}-){3}[a-z2-9]{5}\n$/);
    expect(stderr).to.include('operator@gateway.local now signs in with this password');
    expect(await lastEntry())
      .to.have.property('actor')
      .that.matches(/^cli:\S+$/);
  });

  it('members are invited by a link, listed with their role, and removed', async () => {
    expect((await run('members', 'list', 'acme')).stderr).to.include('members invite acme EMAIL');
    const { stdout } = await run('members', 'invite', 'acme', 'Ada@acme.example', '--role', 'viewer');
    const token = /^https:\/\/keys\.example\.com\/join\/([\w-]+)\n$/.exec(stdout)?.[1] ?? '';
    const ada = { email: 'ada@acme.example', name: 'Ada', password: goodPassword };
    await createTestMembers(connect).joinAs(token, ada, '192.0.2.1');
    const lines = (await run('members', 'list', 'acme')).stdout.split('\n');
    expect(lines[0]?.split(/ {2,}/)).to.deep.equal(['EMAIL', 'ROLE', 'SECOND FACTOR', 'SINCE']);
    expect(lines[1]).to.match(/^ada@acme\.example +viewer +no +20\d\d-/);
    expect((await run('members', 'remove', 'acme', 'Ada@acme.example')).stdout).to.include('Removed');
    expect(await dataOf('members', 'list', 'acme')).to.deep.equal({ members: [] });
    expect(await lastEntry()).to.deep.include({ action: 'member.remove', detail: { email: ada.email } });
  });

  it('tokens are made, which prints them alone, listed and revoked', async () => {
    const made = await run('tokens', 'create', 'grafana', '--expires', '30d');
    expect(made.stdout).to.match(/^hgt_[0-9A-Za-z]{32}\n$/);
    const { tokens } = await dataOf('tokens', 'list');
    expect(tokens[0]).to.include({ label: 'grafana', role: 'support', last_used_at: null });
    expect((await run('tokens', 'list')).stdout).not.to.include(made.stdout.trim());
    expect((await run('tokens', 'revoke', tokens[0].id)).stdout).to.equal('Revoked the token of grafana.\n');
    expect((await run('tokens', 'list')).stderr).to.include('There is no token yet');
  });

  it('say what is wrong by the names that were typed', async () => {
    for (const [args, said] of [
      [['tokens', 'create', 'x', '--role', 'king', '--expires', '2001-01-01'], /--role .*; --expires /],
      [['members', 'invite', 'acme', 'a@b.example', '--role', 'king'], /--role must be member or viewer/],
      [['members', 'list', 'nobody'], /no tenant named "nobody"/],
      [['members', 'remove', 'acme', 'a@b.example'], /acme has no member a@b\.example/],
      [['tokens', 'revoke', 'tok_x'], /no token "tok_x"/],
    ] as const) {
      const { stderr, exitCode } = await run(...args);
      expect([exitCode, stderr]).to.satisfy(
        ([code, text]: [number, string]) => code === 1 && said.test(text),
      );
    }
  });
});
