import { expect } from 'chai';
import { Command } from 'commander';
import { actorName, type OpenKeys } from '../../../gateway/commands/open.js';
import { registerOperatorCommands } from '../../../gateway/commands/tenants.js';
import type { TestDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { createKeys, run } from './terminal.js';

describe('commands/tenants', () => {
  let database: TestDatabase;
  let open: OpenKeys;
  beforeEach(async () => {
    ({ database, open } = await createKeys());
  });
  afterEach(() => database.drop());

  const tenants = (...args: string[]) => run(open, 'tenants', ...args);

  it('create says what to do next', async () => {
    expect(await tenants('create', 'globex')).to.deep.equal({
      stdout: 'Created the tenant globex. Next, a key for it: npx helper-gateway keys issue globex\n',
      stderr: '',
      exitCode: 0,
    });
  });

  it('create ends with 1 for a name that exists or is invalid', async () => {
    const error = 'Error: A tenant named "acme" exists already.\n';
    expect(await tenants('create', 'acme')).to.include({ exitCode: 1, stderr: error });
    const { exitCode, stdout } = await tenants('create', 'Ac me', '--json');
    expect([exitCode, JSON.parse(stdout).error.code]).to.deep.equal([1, 'invalid_input']);
    expect((await tenants('create', 'Ac me')).stderr).to.match(/^Error: <name> must be 1 to 63 of a-z/);
  });

  it('list shows a table, or how to create the first', async () => {
    await tenants('create', 'zeta');
    const lines = (await tenants('list')).stdout.split('\n');
    expect(lines.map((line) => line.split(/\s+/)[0])).to.deep.equal(['NAME', 'acme', 'zeta', '']);
    const listed = JSON.parse((await tenants('list', '--json')).stdout);
    expect(listed.data.tenants[0]).to.include({ name: 'acme', weight: 1 });
    const none: OpenKeys = async () => {
      const opened = await open();
      const listTenants = async () => ({ tenants: [], next: null });
      return { ...opened, admin: { ...opened.admin, listTenants } };
    };
    const empty = await run(none, 'tenants', 'list');
    expect(empty.stdout).to.equal('');
    expect(empty.stderr).to.include('helper-gateway tenants create NAME');
  });

  it('names the user in the audit log', async () => {
    const { admin, close } = await open();
    expect((await admin.audit()).entries[0]?.actor).to.match(/^cli:\S+$/);
    await close();
  });

  describe('webhook-secret', () => {
    let id: string;
    beforeEach(async () => {
      id = JSON.parse((await tenants('list', '--json')).stdout).data.tenants[0].id;
    });
    const secret = (version: number) => signing.webhooks.current(id, version);

    it('prints the secret alone, or one JSON document', async () => {
      const { stdout, stderr, exitCode } = await tenants('webhook-secret', 'acme');
      expect([stdout, exitCode]).to.deep.equal([`${secret(1)}\n`, 0]);
      expect(stderr).to.include('acme').and.not.include('whsec_');
      const json = await tenants('webhook-secret', 'acme', '--json');
      expect(json.stderr).to.equal('');
      const data = { tenant: 'acme', webhook_secret: secret(1), previous_until: null };
      expect(JSON.parse(json.stdout)).to.deep.equal({ ok: true, data });
    });

    it('makes another with --rotate, and says how long the old one still signs', async () => {
      const { stdout, stderr } = await tenants('webhook-secret', 'acme', '--rotate');
      expect(stdout).to.equal(`${secret(2)}\n`);
      expect(stderr).to.match(/The one before signs as well until \d{4}-/);
      expect((await tenants('webhook-secret', 'acme')).stdout).to.equal(stdout);
    });

    it('ends with 1 for an unknown tenant, and without a master secret', async () => {
      const error = 'Error: There is no tenant named "globex".\n';
      expect(await tenants('webhook-secret', 'globex')).to.include({ exitCode: 1, stderr: error });
      const none: OpenKeys = () => open({ signs: false });
      const { stderr, exitCode } = await run(none, 'tenants', 'webhook-secret', 'acme');
      expect([exitCode, stderr.includes('HELPER_SIGNING_SECRET')]).to.deep.equal([1, true]);
    });
  });
});

describe('commands/operator', () => {
  it('reset names the user for the audit log, and prints the password alone', async () => {
    const resets: unknown[][] = [];
    let [stdout, stderr, closed] = ['', '', 0];
    const program = new Command('helper-gateway');
    registerOperatorCommands(
      program,
      async () => ({
        async reset(...given) {
          resets.push(given);
          return { email: 'ada@example.com', password: 'one-two-three' };
        },
        async close() {
          closed += 1;
        },
      }),
      {
        stdout: { write: (text) => (stdout += text) },
        stderr: { write: (text) => (stderr += text) },
        setExitCode() {},
        exit: (code) => expect.fail(`ended with ${code}`),
      },
    );
    await program.parseAsync(['operator', 'reset', '--email', 'ada@example.com'], { from: 'user' });
    expect(resets).to.deep.equal([['ada@example.com', actorName()]]);
    expect(actorName()).to.match(/^cli:./);
    expect(stdout).to.equal('one-two-three\n');
    expect(stderr).to.include('ada@example.com now signs in with this password');
    expect(closed).to.equal(1);
  });
});
