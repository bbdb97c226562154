import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Command } from 'commander';
import fc from 'fast-check';
import { registerApply } from '../../../gateway/commands/apply.js';
import { type Change, planChanges } from '../../../gateway/commands/apply-changes.js';
import type { OpenKeys } from '../../../gateway/commands/open.js';
import { GatewayError } from '../../../gateway/errors.js';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { onEachDatabase } from '../databases.js';
import { compileRecipe } from '../keys/recipe-compiler.js';

const services = ['text/remove-stopwords', 'media/add-border'];

const file = `
plans:
  - name: team
    limits: { rate: 100, weight: 2 }
tenants:
  - name: acme
    plan: team
    note: first
    limits: { rate: 20, monthly_quota: 1000 }
    keys:
      - { label: ci, scopes: [text/*, media/add-border], expires_at: 2099-01-01, limits: { rate: 5 } }
      - { label: web, state: paused }
    recipes:
      card: { steps: [{ use: media/add-border }] }
      pill: pill.json
  - { name: beta, state: suspended, weight: 3 }
`;

describe('apply', () => {
  let folder: string;
  const pill = { steps: [{ use: 'media/add-border' }], summary: 'A pill.' };
  afterEach(() => rm(folder, { recursive: true }));

  onEachDatabase((database) => {
    let admin: KeyAdmin;
    /** Wall clock of the gateway, ms. */
    let now: number;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'apply-'));
      await writeFile(join(folder, 'pill.json'), JSON.stringify(pill));
      now = Date.now();
      const [store, signing] = [await database().open(), createSigningSecrets(undefined)];
      admin = createKeyAdmin({ store, signing, compileRecipe, services: () => services, now: () => now });
    });

    /** Runs the command on a file of this text and gives what it wrote. */
    async function apply(text: string, ...flags: string[]) {
      const ran = { stdout: '', stderr: '', exitCode: 0 };
      const open = (async () => ({ admin, services, close: async () => undefined })) as OpenKeys;
      const program = new Command();
      registerApply(program, open, {
        stdout: { write: (written) => (ran.stdout += written) },
        stderr: { write: (written) => (ran.stderr += written) },
        setExitCode: (exitCode) => void Object.assign(ran, { exitCode }),
        exit: () => undefined,
      });
      const path = join(folder, 'tenants.yaml');
      await writeFile(path, text);
      await program.parseAsync(['apply', '-f', path, ...flags], { from: 'user' });
      return ran;
    }
    const dataOf = async (text: string, ...flags: string[]) =>
      JSON.parse((await apply(text, '--json', ...flags)).stdout).data;
    const named = (changes: Change[]) =>
      changes.map(({ action, kind, tenant, name }) => [action, kind, tenant, name].filter(Boolean).join(' '));
    const entries = async () => (await admin.audit({ limit: 1000 })).entries.length;

    it('adds what is missing, shows new keys once, and changes nothing a second time', async () => {
      await admin.createTenant('other', 'test');
      const dry = await dataOf(file, '--dry-run');
      expect(named(dry.changes)).to.deep.equal([
        'add plan team',
        'add tenant acme',
        'add key acme ci',
        'add key acme web',
        'add recipe acme card',
        'add recipe acme pill',
        'add tenant beta',
      ]);
      expect([await entries(), dry.left_alone]).to.deep.equal([1, [{ kind: 'tenant', name: 'other' }]]);
      const { stdout } = await apply(file);
      expect(stdout).to.match(
        /^\+ {2}key +acme\/ci +scopes text\/\* media\/add-border, expires_at 2099-01-01, rate 5$/m,
      );
      expect(stdout.match(/hg_\w{33}$/gm)).to.have.length(2);
      const acme = await admin.tenant('acme');
      expect(acme).to.deep.include({ plan: 'team', note: 'first' });
      expect(acme.in_force.weight).to.deep.equal({ value: 2, from: 'plan' });
      expect(await admin.tenant('beta')).to.deep.include({ state: 'suspended', weight: 3 });
      const keys = (await admin.listKeys('acme', { sort: 'label' })).keys.map(({ label, state }) => [
        label,
        state,
      ]);
      expect(keys).to.have.deep.members([
        ['ci', 'active'],
        ['web', 'paused'],
      ]);
      const before = await entries();
      const again = await apply(file);
      expect(again.stdout)
        .to.match(/^Nothing to change: 7 unchanged\.\n/)
        .and.not.include('hg_');
      expect(await entries()).to.equal(before);
    });

    it('prints what changes from what, and leaves alone what the file does not name', async () => {
      await apply(file);
      const changed = file
        .replace('rate: 20', 'rate: 30')
        .replace('note: first', 'note: null')
        .replace('text/*, media/add-border', 'media/add-border, "text/*"')
        .replace('2099-01-01', '2099-01-01T01:00:00+01:00')
        .replace('- { label: web, state: paused }', '')
        .replace('pill: pill.json', '');
      const [dry, done] = [await dataOf(changed, '--dry-run'), await dataOf(changed)];
      const fields = { note: { before: 'first', after: null }, rate: { before: 20, after: 30 } };
      expect(done.changes).to.deep.equal([{ kind: 'tenant', name: 'acme', action: 'change', fields }]);
      expect([dry.changes, done.keys]).to.deep.equal([done.changes, []]);
      const rest = [
        { kind: 'key', tenant: 'acme', name: 'web' },
        { kind: 'recipe', tenant: 'acme', name: 'pill' },
      ];
      expect(done.left_alone).to.deep.equal(rest);
      expect((await apply(file.replace('rate: 20', 'rate: 40'))).stdout).to.match(
        /^~ {2}tenant {2}acme {2}note none → first, rate 30 → 40$/m,
      );
    });

    it('shows no secret that stands in an address', async () => {
      const at = (path: string) => `tenants: [{ name: acme, notice_url: 'https://example.com/${path}' }]`;
      await apply(at('one'));
      const { stdout } = await apply(at('two'));
      expect(stdout).to.include('notice_url https://example.com → https://example.com\n');
      expect(await admin.tenant('acme')).to.include({ notice_url: 'https://example.com/two' });
    });

    it('accepts an end that has passed since it was applied, and no new one that has', async () => {
      const ends = (day: string) => `tenants: [{ name: acme, keys: [{ label: ci, expires_at: ${day} }] }]`;
      await apply(ends('2099-01-01'));
      now = Date.parse('2100-01-01');
      expect((await dataOf(ends('2099-01-01'))).unchanged).to.equal(2);
      const { stdout, exitCode } = await apply(ends('2099-01-02'), '--json');
      expect([exitCode, JSON.parse(stdout).error.details[0].field]).to.deep.equal([
        1,
        'tenants.0.keys.0.expires_at',
      ]);
    });

    it('names all that is wrong with a file, and changes nothing', async () => {
      await admin.createTenant('acme', 'test');
      for (const _ of 'ab') await admin.issueKey('acme', { label: 'two' }, 'test');
      const before = await entries();
      const { stdout, exitCode } = await apply(
        `tenants:
  - { name: acme, plan: none, limits: { rte: 1, rate: -1 }, keyz: [], notice_url: 'http://10.0.0.1/', keys: [
      { label: ci, scopes: [txt/*] }, { label: ci }, { label: two }, { scopes: 5 } ],
      recipes: { Card: { steps: [] }, card: {}, pill: gone.json } }
  - 7
plan: []`,
        '--json',
      );
      const { details } = JSON.parse(stdout).error;
      expect(exitCode).to.equal(1);
      expect(details.map(({ field }: { field: string }) => field)).to.have.members([
        'plan',
        'tenants.0.plan',
        'tenants.0.limits.rte',
        'tenants.0.limits.rate',
        'tenants.0.keyz',
        'tenants.0.notice_url',
        'tenants.0.keys.0.scopes',
        'tenants.0.keys.1',
        'tenants.0.keys.2.label',
        'tenants.0.keys.3.label',
        'tenants.0.keys.3.scopes',
        'tenants.0.recipes.Card',
        'tenants.0.recipes.card.steps',
        'tenants.0.recipes.pill',
        'tenants.1',
      ]);
      expect(stdout).to.include('did you mean \\"rate\\"').and.include('did you mean \\"keys\\"');
      expect(await entries()).to.equal(before);
    });

    it('says what was applied before a failure, keys among it', async () => {
      const { editTenant } = admin;
      admin.editTenant = (name, ...rest) =>
        name === 'beta' ? Promise.reject(new Error('the disk is full')) : editTenant(name, ...rest);
      const { stdout, stderr, exitCode } = await apply(file);
      expect(stdout.match(/hg_\w{33}$/gm)).to.have.length(2);
      expect(stderr).to.include('beta: the disk is full. 6 of 7 changes were applied');
      expect(exitCode).to.equal(1);
      admin.editTenant = () => Promise.reject(new GatewayError('conflict'));
      expect((await apply(file)).stderr).to.match(/[^.]\. 0 of 1 changes were applied/);
      admin.createTenant = () => Promise.reject(new Error('the disk is full'));
      expect((await apply('tenants: [{ name: new }]')).stdout).to.match(
        /^0 added, 0 changed, 0 unchanged\.\n/,
      );
      admin.editTenant = editTenant;
      expect(named((await dataOf(file)).changes)).to.deep.equal(['change tenant beta']);
    });

    it('applies any file to what no second application changes, as its dry run has said', async function () {
      this.timeout(30_000);
      const limits = fc.record(
        { rate: fc.nat(9), weight: fc.integer({ min: 1, max: 3 }) },
        { requiredKeys: [] },
      );
      const scopes = fc.option(fc.uniqueArray(fc.constantFrom('text/*', ...services), { minLength: 1 }));
      const key = fc.record(
        {
          label: fc.constantFrom('a', 'b'),
          scopes,
          state: fc.constantFrom('active', 'paused'),
          limits: fc.record({ rate: fc.option(fc.nat(5)) }),
        },
        { requiredKeys: ['label'] },
      );
      const steps = fc.record({ steps: fc.array(fc.record({ use: fc.string() }), { maxLength: 2 }) });
      const byLabel = { selector: ({ label }: { label: string }) => label };
      const tenant = fc.record(
        {
          name: fc.constantFrom('one', 'two', 'three'),
          ...{ limits, plan: fc.constantFrom(null, 'team'), note: fc.option(fc.constantFrom('x', 'y')) },
          state: fc.constantFrom('active', 'suspended'),
          keys: fc.uniqueArray(key, byLabel),
          recipes: fc.dictionary(fc.constantFrom('r', 's'), steps),
        },
        { requiredKeys: ['name'] },
      );
      const document = fc.record({
        plans: fc.constant([{ name: 'team', limits: { rate: 7 } }]),
        tenants: fc.uniqueArray(tenant, { selector: ({ name }) => name }),
      });
      const refuse = async () => expect.fail('there is no file');
      const property = fc.asyncProperty(document, async (given) => {
        const { steps } = await planChanges(structuredClone(given), admin, refuse);
        const { changes } = await dataOf(JSON.stringify(given));
        expect(changes).to.deep.equal(JSON.parse(JSON.stringify(steps.map(({ change }) => change))));
        const before = await entries();
        expect((await dataOf(JSON.stringify(given))).changes).to.deep.equal([]);
        expect(await entries()).to.equal(before);
      });
      await fc.assert(property, { numRuns: 10 });
    });

    it('reads JSON too, and refuses what is no plain document', async () => {
      expect((await dataOf('{"tenants":[{"name":"acme"}]}')).changes).to.have.length(1);
      const nested = [
        'a: &a [x]',
        ...'bcdefghijk'
          .split('')
          .map((name, at) => `${name}: &${name} [${`*${'abcdefghij'[at]},`.repeat(9)}]`),
      ];
      for (const text of [
        'a: [',
        '[]',
        '',
        'tenants: !!js/function x',
        '- '.repeat(2_000),
        nested.join('\n'),
      ]) {
        const { exitCode, stderr } = await apply(text);
        expect([exitCode, stderr.slice(0, 80)], text.slice(0, 20)).to.satisfy(
          ([code, said]: [number, string]) =>
            code === 1 && said.startsWith('Error: <file> must be YAML or JSON'),
        );
      }
    });
  });
});
