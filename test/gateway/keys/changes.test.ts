import { expect } from 'chai';
import { sql } from 'kysely';
import type { Access } from '../../../gateway/database/database.js';
import type { GatewayError } from '../../../gateway/errors.js';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { noKeyLimits, noLimits } from '../../../gateway/keys/model.js';
import { createKeyStore } from '../../../gateway/keys/store.js';
import type { KeyTables } from '../../../gateway/keys/tables.js';
import { onEachDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { rejection } from './key-store-contract.js';
import { compileRecipe } from './recipe-compiler.js';

const startTime = Date.UTC(2030, 0, 1);
const hour = 3_600_000;
const defaults = { ...noLimits, rate: 50, burst: 0 };

describe('keys/admin: changes', () =>
  onEachDatabase((database) => {
    let access: Access<KeyTables>;
    let admin: KeyAdmin;
    let now: number;
    let tenantId: string;

    beforeEach(async () => {
      now = startTime;
      access = (await database().connect()).access<KeyTables>();
      admin = createKeyAdmin({
        ...{ store: createKeyStore(access), signing, compileRecipe, defaults },
        services: () => ['text/remove-stopwords', 'media/add-border'],
        now: () => now,
      });
      ({ id: tenantId } = await admin.createTenant('acme', 'ann'));
    });

    const failure = async (work: Promise<unknown>) => (await rejection(work)) as GatewayError;
    const code = async (work: Promise<unknown>) => (await failure(work)).code;
    async function fields(work: Promise<unknown>): Promise<string[]> {
      return ((await failure(work)).details ?? []).map(({ field }) => field);
    }
    /** Actions and details since the given entry, oldest first. */
    async function logged(from = 1) {
      const entries = (await admin.audit()).entries.toReversed().slice(from);
      return entries.map(({ action, detail }) => [action, detail]);
    }
    const issue = (fields: object = {}) => admin.issueKey('acme', fields, 'ann');

    describe('of a key', () => {
      it('are made one by one, noted with what was before, and cleared with null', async () => {
        const { id } = await issue({ label: 'ci', scopes: ['text/*'], expires_at: '2031-01-01' });
        const changes = { label: 'billing', rate: 5, expires_at: '2032-01-01', scopes: ['media/*'] };
        const edited = await admin.editKey(id, changes, 'bob');
        const [from, to] = ['2031-01-01T00:00:00.000Z', '2032-01-01T00:00:00.000Z'];
        expect(edited).to.deep.include({
          ...{ tenant: 'acme', label: 'billing', scopes: ['media/*'], expires_at: to },
          limits: { ...noKeyLimits, rate: 5 },
        });
        const cleared = { label: null, scopes: null, expires_at: null, rate: null };
        expect(await admin.editKey(id, cleared, 'bob')).to.deep.include({
          ...{ label: null, scopes: null, expires_at: null, limits: noKeyLimits },
        });
        const [first, second] = await logged(2);
        expect(first).to.deep.equal([
          'key.edit',
          {
            label: { from: 'ci', to: 'billing' },
            scopes: { from: ['text/*'], to: ['media/*'] },
            expires_at: { from, to },
            rate: { from: null, to: 5 },
          },
        ]);
        expect(second?.[1]).to.deep.include({ expires_at: { from: to, to: null } });
      });

      it('note nothing where nothing differs', async () => {
        const { id } = await issue({ label: 'ci' });
        await admin.editKey(id, { label: 'ci', scopes: null, state: 'active' }, 'bob');
        expect(await logged(2)).to.deep.equal([]);
      });

      it('pause it and resume it', async () => {
        const { id } = await issue();
        expect(await admin.editKey(id, { state: 'paused' }, 'bob')).to.include({
          state: 'paused',
          paused_at: '2030-01-01T00:00:00.000Z',
        });
        await admin.editKey(id, { state: 'paused' }, 'bob');
        expect(await admin.editKey(id, { state: 'active' }, 'bob')).to.include({ state: 'active' });
        expect(await logged(2)).to.deep.equal([
          ['key.pause', {}],
          ['key.resume', {}],
        ]);
      });

      it('are a conflict once it is revoked, and name all wrong fields', async () => {
        const { id } = await issue();
        const wrong = { label: '', scopes: ['nope'], expires_at: '2020-01-01', rate: -1, state: 'revoked' };
        expect(await fields(admin.editKey(id, wrong, 'bob'))).to.have.members(Object.keys(wrong));
        await admin.revokeKey(id, 'ann');
        expect(await code(admin.editKey(id, { label: 'x' }, 'bob'))).to.equal('conflict');
        expect(await code(admin.editKey('key_none', {}, 'bob'))).to.equal('not_found');
      });
    });

    describe('of a tenant', () => {
      it('are all made by one call, each kind with its entry', async () => {
        await admin.putPlan('team', { rate: 9, monthly_quota: 100, weight: 4 }, 'ann');
        const url = 'https://hooks.example.com/T0/secret';
        const edited = await admin.editTenant(
          'acme',
          {
            ...{ name: 'acme-inc', state: 'suspended', external_id: 'crm-7', note: 'pays late' },
            ...{ notice_url: url, plan: 'team', monthly_quota: 7 },
          },
          'bob',
        );
        expect(edited).to.deep.include({
          ...{ id: tenantId, name: 'acme-inc', state: 'suspended', external_id: 'crm-7', note: 'pays late' },
          ...{ notice_url: url, plan: 'team', limits: { ...noLimits, monthly_quota: 7 }, weight: 4 },
        });
        expect(edited.in_force).to.deep.equal({
          rate: { value: 9, from: 'plan' },
          burst: { value: 0, from: 'gateway' },
          monthly_quota: { value: 7, from: 'tenant' },
          in_flight: { value: null, from: 'gateway' },
          monthly_cpu_ms: { value: null, from: 'gateway' },
          weight: { value: 4, from: 'plan' },
        });
        const entries = await logged(2);
        expect(entries.map(([action]) => action)).to.deep.equal([
          'tenant.rename',
          'tenant.suspend',
          'tenant.edit',
          'tenant.limits',
        ]);
        expect(entries[2]?.[1]).to.deep.include({ plan: { from: null, to: 'team' } });
        expect(JSON.stringify(entries)).not.to.include('T0/secret');
        expect(await code(admin.tenant('acme'))).to.equal('not_found');
        const back = { state: 'active', plan: null, note: null, notice_url: null, external_id: null };
        expect(await admin.editTenant('acme-inc', back, 'bob')).to.include({ ...back, weight: 1 });
      });

      it('are made whole or not at all', async () => {
        await admin.createTenant('globex', 'ann');
        const changes = [
          { name: 'globex', note: 'x' },
          { note: 'x', plan: 'none' },
          { note: 'x', notice_url: 'https://127.0.0.1/' },
        ];
        const codes = await Promise.all(changes.map((each) => code(admin.editTenant('acme', each, 'bob'))));
        expect(codes).to.deep.equal(['exists', 'invalid_input', 'source_refused']);
        expect(await fields(admin.editTenant('acme', { plan: 'none' }, 'bob'))).to.deep.equal(['plan']);
        const withNul = admin.editTenant('acme', { notice_url: 'https://hooks.example.com/\0' }, 'bob');
        expect(await fields(withNul)).to.deep.equal(['notice_url']);
        expect(await admin.tenant('acme')).to.include({ name: 'acme', note: null });
        expect(await logged(2)).to.deep.equal([]);
      });

      it('free its name at once, for a tenant that inherits nothing', async () => {
        const { id, key } = await issue();
        await admin.putRecipe('acme', 'card', { steps: [] }, 'ann');
        const members = sql`insert into connect_users (id, name, email) values ('u1', 'Ada', 'ada@example.com')`;
        await access.run((db) => members.execute(db));
        await access.run((db) =>
          sql`insert into connect_members (tenant_id, user_id, created_at) values (${tenantId}, 'u1', 1)`.execute(
            db,
          ),
        );
        await access.run((db) => sql`insert into connect_readers values (${tenantId}, 'u1', 1)`.execute(db));
        const contents = { keys: 1, recipes: 1, members: 2, jobs: 0 };
        expect(await admin.contents('acme')).to.deep.equal(contents);
        const deleted = await admin.deleteTenant('acme', 'bob');
        expect(deleted).to.deep.equal({ id: tenantId, name: 'acme', deleted: contents });
        expect((await logged()).at(-1)).to.deep.equal(['tenant.delete', { name: 'acme', ...contents }]);
        expect(await code(admin.findKey({ key }))).to.equal('not_found');
        expect(await code(admin.key(id))).to.equal('not_found');

        const { id: newId } = await admin.createTenant('acme', 'ann');
        expect(newId).not.to.equal(tenantId);
        expect(await admin.contents('acme')).to.deep.equal({ keys: 0, recipes: 0, members: 0, jobs: 0 });
        const { rows } = await access.run((db) => sql`select * from former_tenants`.execute(db));
        expect(rows).to.deep.equal([{ id: tenantId, name: 'acme', deleted_at: startTime }]);
      });
    });

    describe('of a plan', () => {
      it('hold for its tenants, but for values of their own', async () => {
        expect((await admin.putPlan('team', { rate: 9 }, 'ann')).isNew).to.equal(true);
        await admin.editTenant('acme', { plan: 'team', burst: 3 }, 'ann');
        expect((await admin.putPlan('team', { burst: 8, weight: 5 }, 'ann')).isNew).to.equal(false);
        const { in_force, weight } = await admin.tenant('acme');
        expect([in_force.rate, in_force.burst, weight]).to.deep.equal([
          { value: 50, from: 'gateway' },
          { value: 3, from: 'tenant' },
          5,
        ]);
        const older = await access.run((db) => db.selectFrom('tenants').select('weight').executeTakeFirst());
        expect(older, 'for older gateways').to.deep.equal({ weight: 5 });
        const plans = await admin.plans();
        expect(plans.map(({ name, tenants, weight }) => [name, tenants, weight])).to.deep.equal([
          ['team', 1, 5],
        ]);
      });

      it('cannot delete it while tenants refer to it', async () => {
        await admin.putPlan('team', {}, 'ann');
        await admin.editTenant('acme', { plan: 'team' }, 'ann');
        const refused = await failure(admin.deletePlan('team', 'bob'));
        expect(refused.code).to.equal('conflict');
        expect(refused.message).to.include('one tenant');
        await admin.editTenant('acme', { plan: null }, 'ann');
        expect(await admin.deletePlan('team', 'bob')).to.include({ name: 'team' });
        expect(await code(admin.deletePlan('team', 'bob'))).to.equal('not_found');
        expect(await fields(admin.putPlan('No Plan', {}, 'bob'))).to.deep.equal(['name']);
        expect((await logged()).at(-1)).to.deep.equal(['plan.delete', { name: 'team' }]);
      });
    });

    it('find a key by its whole secret, also by one in its grace, and say what is none', async () => {
      const { id, key } = await issue();
      await admin.rotateKey(id, { grace_seconds: 60 }, 'ann');
      expect(await admin.findKey({ key: ` ${key}\n` })).to.include({ id, tenant: 'acme' });
      now += hour;
      expect(await admin.findKey({ key })).to.include({ id });
      for (const text of ['hg_short', id, `${key.slice(0, -1)}!`]) {
        const { code, message } = await failure(admin.findKey({ key: text }));
        expect(code).to.equal('not_found');
        expect(message).not.to.include(text);
      }
    });

    it('know what counts in this month against a tenant or key, and null for calls that are not counted', async () => {
      const { id } = await issue();
      const use = async () => [
        await admin.limitUse(await admin.tenant('acme')),
        await admin.limitUse(await admin.key(id)),
      ];
      expect(await use()).to.deep.equal([
        { calls: null, cpu_ms: 0 },
        { calls: null, cpu_ms: null },
      ]);
      const rows = [
        [tenantId, '2030-01', 7],
        [tenantId, '2029-12', 99],
        [`${tenantId} cpu`, '2030-01', 1_234_567],
      ];
      for (const [account, month, used] of rows)
        await access.run((db) =>
          sql`insert into quota_use (tenant, month, used) values (${account}, ${month}, ${used})`.execute(db),
        );
      await admin.editTenant('acme', { monthly_quota: 9 }, 'ann');
      await admin.editKey(id, { monthly_quota: 9, monthly_cpu_ms: 9 }, 'ann');
      expect(await use()).to.deep.equal([
        { calls: 7, cpu_ms: 1235 },
        { calls: 0, cpu_ms: 0 },
      ]);
    });
  }));
