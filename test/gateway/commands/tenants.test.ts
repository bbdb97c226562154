import { expect } from 'chai';
import { Command } from 'commander';
import { actorName, type OpenKeys } from '../../../gateway/commands/open.js';
import { registerOperatorCommands } from '../../../gateway/commands/tenants.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { run } from './terminal.js';

describe('commands/tenants', () => {
  let database: TestDatabase;
  let open: OpenKeys;
  beforeEach(async () => {
    database = await createSqliteDatabase();
    open = async ({ signs = false } = {}) => {
      const store = await database.open();
      // As in life: only for a command that says so there is a master secret.
      const own = signs ? signing : createSigningSecrets(undefined);
      const admin = createKeyAdmin({ store, signing: own, services: () => [] });
      return { admin, services: [], close: () => store.close() };
    };
  });
  afterEach(() => database.drop());

  it('create says what to do next', async () => {
    const ran = await run(open, 'tenants', 'create', 'acme');
    expect(ran).to.deep.equal({
      stdout: 'Created the tenant acme. Next, a key for it: npx helper-gateway keys issue acme\n',
      stderr: '',
      exitCode: 0,
    });
  });

  it('list shows a table, or the way to the first one', async () => {
    const empty = await run(open, 'tenants', 'list');
    expect(empty.stdout).to.equal('');
    expect(empty.stderr).to.include('helper-gateway tenants create NAME');
    for (const name of ['zeta', 'acme-and-sons']) await run(open, 'tenants', 'create', name);
    const lines = (await run(open, 'tenants', 'list')).stdout.split('\n');
    expect(lines.map((line) => line.split(/\s+/)[0])).to.deep.equal(['NAME', 'acme-and-sons', 'zeta', '']);
  });

  it('gives JSON with --json', async () => {
    const created = JSON.parse((await run(open, 'tenants', 'create', 'acme', '--json')).stdout);
    expect(created.data.tenant).to.include({ name: 'acme', weight: 1 });
    const listed = JSON.parse((await run(open, 'tenants', 'list', '--json')).stdout);
    expect(listed).to.deep.equal({ ok: true, data: { tenants: [created.data.tenant] } });
  });

  it('ends with 1 for a name that is taken or none', async () => {
    await run(open, 'tenants', 'create', 'acme');
    const taken = await run(open, 'tenants', 'create', 'acme');
    expect(taken).to.include({ exitCode: 1, stderr: 'Error: A tenant named "acme" exists already.\n' });
    const none = await run(open, 'tenants', 'create', 'Ac me', '--json');
    expect(none.exitCode).to.equal(1);
    expect(JSON.parse(none.stdout).error).to.include({ code: 'invalid_input' });
    const said = await run(open, 'tenants', 'create', 'Ac me');
    expect(said.stderr).to.match(/^Error: <name> must be 1 to 63 of a-z/);
  });

  it('names who did it in the audit log', async () => {
    await run(open, 'tenants', 'create', 'acme');
    const { admin, close } = await open();
    expect((await admin.audit()).entries[0]?.actor).to.match(/^cli:\S+$/);
    await close();
  });

  describe('webhook-secret', () => {
    let id: string;
    beforeEach(async () => {
      ({ id } = JSON.parse((await run(open, 'tenants', 'create', 'acme', '--json')).stdout).data.tenant);
    });
    const secret = (version: number) => signing.webhooks.current(id, version);

    it('prints the secret alone', async () => {
      const { stdout, stderr, exitCode } = await run(open, 'tenants', 'webhook-secret', 'acme');
      expect([stdout, exitCode]).to.deep.equal([`${secret(1)}\n`, 0]);
      expect(stderr).to.include('acme').and.not.include('whsec_');
    });

    it('makes another with --rotate, and says until when the one before signs', async () => {
      const { stdout, stderr } = await run(open, 'tenants', 'webhook-secret', 'acme', '--rotate');
      expect(stdout).to.equal(`${secret(2)}\n`);
      expect(stderr).to.match(/The one before signs as well until \d{4}-/);
      expect((await run(open, 'tenants', 'webhook-secret', 'acme')).stdout).to.equal(stdout);
    });

    it('gives JSON with --json', async () => {
      const { stdout, stderr } = await run(open, 'tenants', 'webhook-secret', 'acme', '--json');
      expect(stderr).to.equal('');
      const data = { tenant: 'acme', webhook_secret: secret(1), previous_until: null };
      expect(JSON.parse(stdout)).to.deep.equal({ ok: true, data });
    });

    it('ends with 1 for no such tenant, and without a master secret', async () => {
      const nobody = await run(open, 'tenants', 'webhook-secret', 'globex');
      expect(nobody).to.include({ exitCode: 1, stderr: 'Error: There is no tenant named "globex".\n' });
      const none: OpenKeys = () => open({ signs: false });
      const { stderr, exitCode } = await run(none, 'tenants', 'webhook-secret', 'acme');
      expect([exitCode, stderr.includes('HELPER_SIGNING_SECRET')]).to.deep.equal([1, true]);
    });
  });
});

describe('commands/operator', () => {
  it('reset says for the audit log whose doing it was, and prints the password alone', async () => {
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
