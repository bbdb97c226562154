import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import { Command } from 'commander';
import { registerKeyCommands } from '../../../gateway/commands/keys.js';
import type { OpenKeys } from '../../../gateway/commands/open.js';
import { openAdmin } from '../../../gateway/commands/open-admin.js';
import type { Terminal } from '../../../gateway/commands/output.js';
import { registerPlanCommands } from '../../../gateway/commands/plans.js';
import { registerRecipeCommands } from '../../../gateway/commands/recipes.js';
import { registerSign } from '../../../gateway/commands/sign.js';
import { registerTenantCommands } from '../../../gateway/commands/tenants.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createKeyVerifier, type KeyVerifier } from '../../../gateway/keys/verifier.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { createUsageReports } from '../../../gateway/usage/reports.js';
import {
  connect,
  createPostgresDatabase,
  createSqliteDatabase,
  requirePostgres,
  type TestDatabase,
} from '../databases.js';
import { runCommand } from '../harness.js';
import { compileRecipe } from '../keys/recipe-compiler.js';
import { signing } from '../signing/signing.js';

const services = ['text/remove-stopwords', 'media/add-border'];
/** Runs a command line in this process, for a script or a person, and gives what it wrote. */
async function runWith(
  open: OpenKeys,
  args: readonly string[],
  { isTTY = false, answer = undefined as string | undefined } = {},
) {
  const ran = { stdout: '', stderr: '', exitCode: 0 };
  const exit = new Error('exit');
  const setExitCode = (exitCode: number) => void Object.assign(ran, { exitCode });
  const terminal: Terminal = {
    stdout: { write: (text) => (ran.stdout += text), isTTY },
    stderr: { write: (text) => (ran.stderr += text) },
    setExitCode,
    exit(code) {
      setExitCode(code);
      throw exit;
    },
    ask: async () => answer,
  };
  const program = new Command('helper-gateway');
  for (const register of [
    ...[registerTenantCommands, registerKeyCommands, registerPlanCommands],
    ...[registerRecipeCommands, registerSign],
  ])
    register(program, open, terminal);
  await program.parseAsync(args, { from: 'user' }).catch((error) => {
    if (error !== exit) throw error;
  });
  return ran;
}

describe('commands on keys and tenants', () => {
  let database: TestDatabase;
  let verifier: KeyVerifier;
  /** The tenant `acme`, and its key. */
  let [tenant, id, key, secret] = ['', '', '', ''];

  /** Only commands that sign get the master secret. */
  const open: OpenKeys = async ({ signs = false } = {}) => {
    const store = await database.open();
    const secrets = signs ? signing : createSigningSecrets(undefined);
    const admin = createKeyAdmin({ store, signing: secrets, compileRecipe, services: () => services });
    const requests = { most: 0, ttlSeconds: 0 };
    const reports = createUsageReports({ access: (await database.connect()).access(), store, requests });
    return { admin, reports, services, close: () => store.close() };
  };
  const unsigned: OpenKeys = () => open({ signs: false });
  const run = (...args: string[]) => runWith(open, args);
  const dataOf = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout).data;

  beforeEach(async () => {
    database = await createSqliteDatabase();
    ({ id: tenant } = (await dataOf('tenants', 'create', 'acme')).tenant);
    ({ id, key, signing_secret: secret } = await dataOf('keys', 'issue', 'acme'));
    // A gateway that runs meanwhile.
    verifier = createKeyVerifier({ store: await database.open(), pollInterval: 20 });
  });
  afterEach(async () => {
    verifier.close();
    await database.drop();
  });

  const stateOf = async (of: string) => {
    await verifier.refresh();
    return (await verifier.verify(of)).state;
  };

  it('issue prints the key alone on stdout, and it works at once in a running gateway', async () => {
    const scopes = ['--scope', 'text/*', 'media/add-border'];
    const { stdout, stderr } = await run('keys', 'issue', 'acme', '--label', 'ci', ...scopes);
    const issued = stdout.trimEnd();
    expect(stderr).to.include('text/*, media/add-border').and.not.include(issued);
    expect(await verifier.verify(issued)).to.have.nested.property('key.label', 'ci');
  });

  it('tenants limits sets values and a plan, and none takes them away', async () => {
    await run('plans', 'set', 'team', '--rate', '10', '--monthly-quota', '1000');
    const set = await run('tenants', 'limits', 'acme', '--plan', 'team', '--rate', '7', '--weight', '3');
    expect(set.stdout)
      .to.match(/^rate +7 +tenant$/m)
      .and.match(/^monthly quota +1000 +plan +0$/m);
    const [listed] = (await dataOf('plans', 'list')).plans;
    expect(listed).to.include({ name: 'team', tenants: 1 });
    expect((await run('plans', 'delete', 'team')).exitCode).to.equal(1);
    const { tenant: back } = await dataOf('tenants', 'limits', 'acme', '--plan', 'none', '--rate', 'none');
    expect([back.plan, back.limits.rate, back.weight]).to.deep.equal([null, null, 3]);
    const wrong = await run('tenants', 'limits', 'acme', '--monthly-quota', 'x');
    expect(wrong).to.include({ stdout: '', exitCode: 1 });
    expect(wrong.stderr).to.include('--monthly-quota must be a whole number');
  });

  it('tenants suspend, resume, rename and list by state', async () => {
    const names = async (...args: string[]) =>
      (await dataOf('tenants', 'list', ...args)).tenants.map(({ name }: { name: string }) => name);
    await run('tenants', 'create', 'globex');
    await run('tenants', 'suspend', 'acme');
    expect(await stateOf(key)).to.equal('suspended');
    expect(await names('--state', 'suspended')).to.deep.equal(['acme']);
    expect(await names('--search', 'GLO', '--sort', 'calls')).to.deep.equal(['globex']);
    await run('tenants', 'resume', 'acme');
    await run('tenants', 'rename', 'acme', 'acme-inc');
    expect(await stateOf(key)).to.equal('active');
    expect((await run('tenants', 'show', 'acme-inc')).stdout).to.match(/^state +active$/m);
  });

  it('tenants delete says what would go, and asks for the name or --yes', async () => {
    const alone = await run('tenants', 'delete', 'acme');
    expect(alone).to.include({ stdout: '', exitCode: 1 });
    expect(alone.stderr).to.include('--yes').and.include('1 key, 0 recipes');
    const wrong = await runWith(open, ['tenants', 'delete', 'acme'], { isTTY: true, answer: 'acm' });
    expect(wrong.exitCode).to.equal(1);
    expect(await stateOf(key)).to.equal('active');
    const typed = await runWith(open, ['tenants', 'delete', 'acme'], { isTTY: true, answer: 'acme' });
    expect(typed.exitCode).to.equal(0);
    expect(await stateOf(key)).to.equal('unknown');
    await run('tenants', 'create', 'acme');
    expect((await dataOf('tenants', 'delete', 'acme', '--yes')).deleted).to.include({ keys: 0 });
  });

  it('keys edit, pause and resume change a running gateway', async () => {
    const edit = [
      'keys',
      'edit',
      id,
      '--label',
      'ci',
      '--scope',
      'text/*',
      '--expires',
      '30d',
      '--rate',
      '2',
    ];
    expect((await run(...edit)).stdout).to.match(/^own limits +rate 2$/m);
    const none = ['--label', 'none', '--scope', 'none', '--expires', 'none', '--rate', 'none'];
    const { key: cleared } = await dataOf('keys', 'edit', id, ...none);
    const limits = { rate: null, monthly_quota: null, monthly_cpu_ms: null };
    expect(cleared).to.deep.include({ label: null, scopes: null, expires_at: null, limits });
    expect((await run('keys', 'edit', id)).stderr).to.include('Nothing was given');
    await run('keys', 'pause', id);
    expect(await stateOf(key)).to.equal('paused');
    expect((await dataOf('keys', 'list', '--state', 'paused')).keys).to.have.length(1);
    await run('keys', 'resume', id);
    expect(await stateOf(key)).to.equal('active');
    expect((await run('keys', 'show', id)).stdout).to.match(/^used this month +not counted/m);
  });

  it('keys find asks for the secret, and never accepts it on the command line', async () => {
    const found = await runWith(open, ['keys', 'find'], { isTTY: true, answer: key });
    expect(found.stdout).to.include(id).and.include('acme').and.not.include(key);
    const given = await run('keys', 'find', key);
    expect([given.exitCode, given.stdout, given.stderr.includes(key)]).to.deep.equal([2, '', false]);
  });

  it('issue separates the tenant from its scopes, in any order, and accepts a time from now', async () => {
    for (const args of [
      '--scope text/* acme --scope media/add-border',
      'acme --scope text/* --scope media/add-border',
      'acme --scope text/*,media/add-border',
      '--scope text/* media/add-border acme',
      '--scope=text/* acme media/add-border',
    ]) {
      const issued = await dataOf('keys', 'issue', '--expires', '30d', ...args.split(' '));
      expect(issued, args).to.deep.include({ tenant: 'acme', scopes: ['text/*', 'media/add-border'] });
      const ms = Date.parse(issued.expires_at) - Date.now();
      expect(ms).to.be.within(30 * 86_400_000 - 60_000, 30 * 86_400_000);
    }
  });

  it('issue names every wrong option as it was typed, and both forms of a time', async () => {
    const wrong = 'issue acme --label= --scope text/* --scope txt/* --expires soon'.split(' ');
    const { stderr, exitCode } = await run('keys', ...wrong);
    expect(exitCode).to.equal(1);
    expect(stderr)
      .to.include('--label must be')
      .and.include('--scope has the unknown scope "txt/*"')
      .and.match(/--expires must be .*ISO 8601 day such as 2030-01-31.*such as 12h or 30d/)
      .and.not.match(/expires_at|scopes/);
    const json = await run('keys', ...wrong, '--json');
    expect(json).to.include({ stderr: '', exitCode: 1 });
    const fields = JSON.parse(json.stdout).error.details.map(({ field }: { field: string }) => field);
    expect(fields).to.have.members(['label', 'scope', 'expires']);
    for (const time of ['now', '0d', '999999999d', '99999999d']) {
      const late = await run('keys', 'issue', 'acme', '--expires', time);
      expect([late.exitCode, late.stderr.includes(`"${time}"`)]).to.deep.equal([1, true]);
      expect(late.stderr).to.match(/^Error: --expires must be an ISO 8601 day/);
    }
  });

  it('issue shows the signing secret to a person alone: scripts write stderr to logs', async () => {
    const shown = await runWith(open, ['keys', 'issue', 'acme'], { isTTY: true });
    expect(shown.stdout).to.match(/^hg_\w+\n$/);
    expect(shown.stderr).to.match(/hgs_[\w-]{43}/);
    const { stderr } = await run('keys', 'issue', 'acme');
    expect(stderr).to.include('keys signing-secret key_').and.not.include('hgs_');
  });

  it('list shows an aligned table and never a key', async () => {
    await run('keys', 'issue', 'acme', '--label', 'a\u200fb', '--expires', '2100-01-01');
    await run('keys', 'issue', 'acme', '--label', 'Zoë 🔑');
    const { stdout } = await run('keys', 'list', 'acme');
    const [head = '', ...lines] = stdout.trimEnd().split('\n');
    expect(lines).to.have.length(3);
    for (const line of lines)
      expect([...line].slice(head.indexOf('CREATED')).join('').trim()).to.match(/^20\d\d-/);
    expect(stdout).to.include('2100-01-01T00:00Z').and.include('a\\u{200f}b').and.not.include(key);
  });

  it('rotate prints the new key alone and lets the old one live for its grace', async () => {
    const { stdout, stderr } = await run('keys', 'rotate', id, '--grace', '15m');
    expect(stderr).to.include('The old key works until');
    expect([await stateOf(stdout.trimEnd()), await stateOf(key)]).to.deep.equal(['active', 'active']);
    expect((await run('keys', 'list', 'acme')).stdout).to.match(/hg_\w{4}…\w{4} until 20/);
    await run('keys', 'rotate', id, '--grace', 'now');
    expect(await stateOf(stdout.trimEnd())).to.equal('expired');
    const long = await run('keys', 'rotate', id, '--grace', '91d');
    expect(long.exitCode).to.equal(1);
    expect(long.stderr).to.match(/^Error: --grace must be .*the longest is 90d/);
  });

  it('revoke is seen by a running gateway', async () => {
    expect(await stateOf(key)).to.equal('active');
    expect((await run('keys', 'revoke', id)).stdout).to.include(`Revoked ${id},`);
    expect(await stateOf(key)).to.equal('revoked');
  });

  it('print one JSON document with --json', async () => {
    const fields = ['id', 'key', 'tenant', 'label', 'scopes', 'expires_at', 'signing_secret'];
    expect(await dataOf('keys', 'issue', 'acme')).to.have.keys(fields);
    const { stdout, stderr } = await run('keys', 'rotate', id, '--json');
    expect([stderr, Object.keys(JSON.parse(stdout))]).to.deep.equal(['', ['ok', 'data']]);
    expect(JSON.parse(stdout).data).to.have.keys('id', 'key', 'previous_expires_at');
    expect((await dataOf('keys', 'revoke', id)).key).to.include({ id, state: 'revoked' });
  });

  it('report a failure in one line, and end with 1', async () => {
    for (const [args, problem] of [
      ['keys issue nobody', 'There is no tenant named "nobody".'],
      ['keys issue acme --scope text/remove-stopword', 'the nearest is "text/remove-stopwords"'],
      ['keys issue acme --expires 2001-01-01', '--expires is "2001-01-01", which has passed'],
      ['keys rotate key_none', 'There is no key with the id "key_none".'],
      ['keys revoke key_none', 'There is no key with the id "key_none".'],
      ['keys list nobody', 'There is no tenant named "nobody".'],
      ['tenants create acme', 'A tenant named "acme" exists already.'],
      ['tenants create Ac/me', '<name> must be 1 to 63 of a-z'],
      ['tenants webhook-secret globex', 'There is no tenant named "globex".'],
      [`sign /media/add-bordr --key ${id}`, 'did you mean "/media/add-border"?'],
      [`sign /healthz --key ${id}`, 'which is no helper'],
      [`sign /media/add-border?ak=x --key ${id}`, '<url> must not have the parameter ak'],
      [`sign /media/add-border?sig=x --key ${id}`, '<url> must not have the parameter sig'],
      [`sign /media/add-border --key ${id} --expires 2001-01-01`, '"2001-01-01", which has passed'],
      [`sign /media/add-border --key ${id} --expires now`, '--expires must be'],
      [`sign /media/add-border --key ${id} --expires 367d`, '--expires would have the url work until 20'],
      [`sign /media/add-border --key ${id} --expires 2099-01-31 --window 1d`, '366 days at most'],
      ['sign /media/add-border --key key_none', 'There is no key with the id "key_none".'],
    ] as const) {
      const { stdout, stderr, exitCode } = await run(...args.split(' '));
      expect([stdout, exitCode, stderr.includes(problem)], args).to.deep.equal(['', 1, true]);
      expect(stderr).to.match(/^Error: [^\n]+\n$/);
    }
  });

  it('name the variable that is missing without a master secret', async () => {
    for (const args of [
      `keys signing-secret ${id}`,
      `keys rotate-signing ${id}`,
      `sign /media/add-border --key ${id}`,
      'tenants webhook-secret acme',
    ]) {
      const { stderr, exitCode } = await runWith(unsigned, args.split(' '));
      expect(stderr).to.match(/^Error: (?!.*database does not answer).*HELPER_SIGNING_SECRET/);
      expect(exitCode).to.equal(1);
    }
    expect((await runWith(unsigned, ['keys', 'issue', 'acme'])).exitCode).to.equal(0);
  });

  it('signing-secret shows what the key was issued with, and rotate-signing another', async () => {
    const shown = await run('keys', 'signing-secret', id);
    expect(shown.stdout).to.equal(`${secret}\n`);
    expect(shown.stderr).to.include(id).and.not.include(secret);
    expect(await dataOf('keys', 'signing-secret', id)).to.deep.equal({ id, signing_secret: secret });
    const { stdout, stderr } = await run('keys', 'rotate-signing', id);
    expect(stdout).to.match(/^hgs_[\w-]{43}\n$/);
    expect(stdout).not.to.equal(shown.stdout);
    expect(stderr).to.include('within 5 seconds');
    expect((await run('keys', 'signing-secret', id)).stdout).to.equal(stdout);
  });

  it('webhook-secret prints the secret alone, and with --rotate how long the old one still signs', async () => {
    const secretOf = (version: number) => signing.webhooks.current(tenant, version);
    const { stdout, stderr, exitCode } = await run('tenants', 'webhook-secret', 'acme');
    expect([stdout, exitCode]).to.deep.equal([`${secretOf(1)}\n`, 0]);
    expect(stderr).to.include('acme').and.not.include('whsec_');
    const data = { tenant: 'acme', webhook_secret: secretOf(1), previous_until: null };
    expect(await dataOf('tenants', 'webhook-secret', 'acme')).to.deep.equal(data);
    const rotated = await run('tenants', 'webhook-secret', 'acme', '--rotate');
    expect(rotated.stdout).to.equal(`${secretOf(2)}\n`);
    expect(rotated.stderr).to.match(/The one before signs as well until \d{4}-/);
    expect((await run('tenants', 'webhook-secret', 'acme')).stdout).to.equal(rotated.stdout);
  });

  it('tenants create says what to do next, and its user stands in the audit log', async () => {
    const stdout = 'Created the tenant globex. Next, a key for it: npx helper-gateway keys issue globex\n';
    expect(await run('tenants', 'create', 'globex')).to.deep.equal({ stdout, stderr: '', exitCode: 0 });
    const { admin, close } = await open();
    expect((await admin.audit()).entries[0]?.actor).to.match(/^cli:\S+$/);
    await close();
  });

  it('tenants list shows a table', async () => {
    await run('tenants', 'create', 'zeta');
    const lines = (await run('tenants', 'list')).stdout.split('\n');
    expect(lines.map((line) => line.split(/\s+/)[0])).to.deep.equal(['NAME', 'acme', 'zeta', '']);
    expect((await dataOf('tenants', 'list')).tenants[0]).to.include({ name: 'acme', weight: 1 });
  });

  describe('recipes', () => {
    const card = { summary: 'Card', steps: [{ use: 'media/add-border', width: '{width}' }] };
    let file: string;
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'recipes-'));
      file = join(folder, 'card.json');
      await writeFile(file, JSON.stringify(card));
    });
    afterEach(() => rm(folder, { recursive: true }));

    it('are saved from a file, listed, shown as they were, and deleted', async () => {
      expect((await run('recipes', 'list', 'acme')).stderr).to.include('no recipe yet');
      expect((await run('recipes', 'put', 'acme', 'card', file)).stdout).to.include('Added card');
      expect((await run('recipes', 'put', 'acme', 'card', file)).stdout).to.include('Replaced card');
      expect((await run('recipes', 'list', 'acme')).stdout).to.match(
        /card +\d{4}-\d\d-\d\d +media\/add-border +Card/,
      );
      expect(JSON.parse((await run('recipes', 'show', 'acme', 'card')).stdout)).to.deep.equal(card);
      const { recipe } = await dataOf('recipes', 'show', 'acme', 'card');
      expect(recipe).to.deep.include({ name: 'card', ...card });
      const shown = await run('sign', '/recipes/card?width=3', '--key', id);
      expect(shown.stdout).to.match(/^\/recipes\/card\?width=3&kid=.*&sig=/);
      expect((await run('recipes', 'delete', 'acme', 'card')).stdout).to.include('Deleted');
      for (const args of [
        ['recipes', 'show', 'acme', 'card'],
        ['recipes', 'delete', 'acme', 'card'],
        ['sign', '/recipes/card?width=3', '--key', id],
      ])
        expect((await run(...args)).exitCode, args.join(' ')).to.equal(1);
    });

    it('are refused with what is wrong, as it was typed', async () => {
      await writeFile(join(folder, 'open.json'), '{"steps":');
      await writeFile(join(folder, 'none.json'), '{}');
      for (const [args, said] of [
        [['Card', file], '<name> must be'],
        [['card', join(folder, 'missing.json')], '<file> cannot be read: ENOENT'],
        [['card', join(folder, 'open.json')], '<file> must be JSON'],
        [['card', join(folder, 'none.json')], 'steps must be given'],
      ] as const) {
        const { stderr, exitCode } = await run('recipes', 'put', 'acme', ...args);
        expect([exitCode, stderr.includes(said)], stderr).to.deep.equal([1, true]);
      }
      expect((await dataOf('recipes', 'list', 'acme')).recipes).to.deep.equal([]);
    });
  });

  describe('sign', () => {
    const day = 86_400;
    const now = () => Date.now() / 1000;
    const sign = (url: string, ...more: string[]) => run('sign', url, '--key', id, ...more);
    const endOf = async (...more: string[]) =>
      (await dataOf('sign', '/img/add-border', '--key', id, ...more)).exp as number;

    it('prints the signed url alone, for one helper and one input, to the end of a day', async () => {
      const { stdout, stderr } = await sign('https://h.example/media/add-border?width=3');
      expect(stderr).to.include('media/add-border').and.include(id);
      const data = await dataOf('sign', '/text/remove-stopwords?text=a', '--key', id);
      expect(data).to.have.keys('url', 'service', 'kid', 'exp', 'expires_at');
      expect(data).to.include({ service: 'text/remove-stopwords', kid: id });
      // With the same end, so that urls repeat.
      const [start, signature] = stdout.split('&sig=');
      expect(start).to.equal(`https://h.example/media/add-border?width=3&kid=${id}&exp=${data.exp}`);
      expect(signature).to.match(/^[\w-]{43}\n$/);
      expect(data.exp % day).to.equal(0);
      expect(data.exp - now()).to.be.within(7 * day - 60, 8 * day);
    });

    it('ends at the time that is given, moved up to a window where there is one', async () => {
      expect((await endOf('--expires', '90s')) - now()).to.be.within(0, 91);
      const soon = Math.floor(now() / 3600) * 3600 + 30 * day + 30;
      const time = new Date(soon * 1000).toISOString();
      expect(await endOf('--expires', time)).to.equal(soon);
      expect(await endOf('--expires', time, '--window', '1h')).to.equal(soon + 3570);
      expect((await endOf('--expires', '366d')) - now()).to.be.within(366 * day - 60, 366 * day + 1);
      expect((await endOf('--window', '30d')) % (30 * day)).to.equal(0);
    });

    it('notes what the key may call, a key that ends before its url, and a dry run', async () => {
      expect((await sign('/media/add-border?dryrun=1')).stderr).to.include('dry run');
      ({ id } = await dataOf('keys', 'issue', 'acme', '--scope', 'text/*', '--expires', '1h'));
      expect((await sign('/media/add-border')).stderr).to.include('it may call text/*');
      expect((await sign('/text/remove-stopwords')).stderr).to.include('The key expires at ');
    });
  });
});

describe('commands on keys and tenants, used wrongly', () => {
  const closed: OpenKeys = () => Promise.reject(new Error('The key database /data is\n locked'));

  it('end with 2 before anything is opened', async () => {
    for (const args of [
      'keys issue',
      'keys rotate key_1 --grace 5_days',
      'keys list a --jso',
      'keys issue a b',
      'keys issue a --scope ping pong',
      'keys issue --scope text/* media/add-border',
      'sign /media/add-border',
      'sign /media/add-border --key key_1 --window now',
      'sign /media/add-border --key key_1 --window 367d',
      'sign /media/add-border --key key_1 --window 999999999d',
    ]) {
      const { stdout, stderr, exitCode } = await runWith(closed, args.split(' '));
      expect([stdout, exitCode], args).to.deep.equal(['', 2]);
      expect(stderr).to.match(/^error: /);
    }
    const ran = await runWith(closed, ['keys', 'rotate', 'key_1', '--grace', 'soon', '--json']);
    expect(ran).to.include({ stderr: '', exitCode: 2 });
    expect(JSON.parse(ran.stdout).error.message).to.include('15m');
  });

  it('show help on stdout, with 0, and say why the keys cannot be opened', async () => {
    const help = await runWith(closed, ['keys', '--help']);
    expect(help).to.include({ stderr: '', exitCode: 0 });
    expect(help.stdout).to.include('issue').and.include('revoke');
    const stderr = 'Error: The key database /data is locked\n';
    expect(await runWith(closed, ['keys', 'list', 'a'])).to.deep.equal({ stdout: '', stderr, exitCode: 1 });
  });
});

describe('commands where there is no gateway database', function () {
  this.timeout(30_000);
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** A command in this process, with what it opens by its variables; `runCommand` starts a Node for each. */
  async function runHere(args: string, env: Record<string, string>) {
    const before = { ...process.env };
    Object.assign(process.env, env);
    try {
      const { exitCode: code, ...written } = await runWith(openAdmin, args.split(' '));
      return { code, ...written };
    } finally {
      for (const name of Object.keys(env)) delete process.env[name];
      Object.assign(process.env, before);
    }
  }

  it('say so with the absolute path and how to go on, end with 1 and make none', async () => {
    const env = { HELPER_DATA_DIR: relative(process.cwd(), join(folder, 'data')) };
    const stderr = `Error: There is no gateway database at ${folder}/data/gateway.db. Run the gateway once, or set HELPER_DATA_DIR to the folder that has one.\n`;
    for (const line of ['tenants create acme', 'keys issue demo', 'keys revoke key_4fGhJ2kLm9Qr'])
      expect(await runHere(line, env), line).to.deep.equal({ code: 1, stdout: '', stderr });
    expect(await runCommand(['operator', 'reset'], env)).to.deep.equal({ code: 1, stdout: '', stderr });
    expect(await readdir(folder)).to.deep.equal([]);
    const json = await runHere('tenants list --json', env);
    expect(json).to.include({ code: 1, stderr: '' });
    expect(JSON.parse(json.stdout).error.code).to.equal('not_found');
  });

  it('take an empty file for none, and say what keeps them from looking', async () => {
    await writeFile(join(folder, 'gateway.db'), '');
    // As root tests may look everywhere, but not through a circle.
    const circle = join(folder, 'circle');
    await symlink(circle, circle);
    for (const [HELPER_DATA_DIR, problem] of [
      [folder, `There is no gateway database at ${folder}/gateway.db`],
      [circle, `The database ${circle}/gateway.db cannot be opened: ELOOP`],
    ] as const) {
      const { code, stderr } = await runHere('tenants list', { HELPER_DATA_DIR });
      expect([code, stderr.startsWith(`Error: ${problem}`)], stderr).to.deep.equal([1, true]);
    }
  });

  it('name all bad variables, one after the other', async () => {
    const port =
      'The configuration is not valid: PORT must be a whole number from 0 to 65535; 0 takes any free port';
    const { stdout } = await runHere('tenants list --json', { PORT: 'many', HELPER_RAET: '3' });
    const message = `${port}; "HELPER_RAET" is not a variable of this gateway; did you mean "HELPER_RATE"?`;
    expect(JSON.parse(stdout).error).to.deep.equal({ code: 'invalid_input', message });
  });

  it('work once it is there, and say how to create the first tenant', async () => {
    await (await connect({ kind: 'sqlite', location: folder })).close();
    const env = { HELPER_DATA_DIR: folder };
    const { stderr, ...ran } = await runHere('tenants list', env);
    expect(ran).to.deep.equal({ code: 0, stdout: '' });
    expect(stderr).to.include('helper-gateway tenants create NAME');
    expect(await runHere('tenants create acme', env)).to.include({ code: 0, stderr: '' });
  });

  it('name a PostgreSQL without its password, and make no tables', async function () {
    await requirePostgres.call(this);
    const database = await createPostgresDatabase();
    const url = new URL(database.location);
    url.password = 'hunter2';
    const list = () => runHere('tenants list', { DATABASE_URL: url.href });
    try {
      for (let time = 0; time < 2; time += 1) {
        const { stderr, ...ran } = await list();
        expect(ran).to.deep.equal({ code: 1, stdout: '' });
        const place = 'at postgres://[^@\\s]+, schema helper_gateway_\\w+\\.';
        expect(stderr).to.match(
          new RegExp(`^Error: There is no gateway database ${place} .*DATABASE_URL.*\\n$`),
        );
        expect(stderr).not.to.include('hunter2');
      }
      await database.connect();
      expect(await list()).to.include({ code: 0 });
    } finally {
      await database.drop();
    }
  });
});
