import { expect } from 'chai';
import {
  type FoundSecret,
  type Key,
  noLimits,
  type Recipe,
  type Secret,
  type Tenant,
} from '../../../gateway/keys/model.js';
import type { Change, KeyStore } from '../../../gateway/keys/store.js';
import { type OpenedStore, onEachDatabase, type TestDatabase } from '../databases.js';
import { byName, rejection } from './key-store-contract.js';

const sampleTenant: Tenant = {
  id: 'ten_1',
  name: 'acme',
  created_at: 1_900_000_000_123,
  limits: { ...noLimits, rate: 2.5, monthly_quota: 9_000_000_000, monthly_cpu_ms: 5_000_000_000 },
  weight: 3,
  plan: null,
  suspended_at: 1_900_000_000_150,
  external_id: 'crm-77',
  note: 'pays “monthly”',
  notice_url: 'https://acme.example/notices',
  webhook_version: 2,
  webhook_rotated_at: 1_900_000_000_200,
};
const sampleKey: Key = {
  id: 'key_1',
  tenant_id: 'ten_1',
  label: 'Zoë’s “laptop” 🔑',
  scopes: ['text/*'],
  expires_at: 1_999_999_999_999,
  created_at: 1_900_000_000_124,
  revoked_at: null,
  paused_at: 1_900_000_000_160,
  last_used_at: null,
  signing_version: 7,
  limits: { rate: 0.5, monthly_quota: 4_000_000_000, monthly_cpu_ms: 1 },
};
const sampleSecret: Secret = {
  id: 'sec_1',
  key_id: 'key_1',
  hash: 'a'.repeat(64),
  prefix: 'hg_Ab3d',
  suffix: 'x9Yz',
  created_at: 1_900_000_000_124,
  expires_at: null,
  ended_at: null,
};

function keyStoreTests(database: () => TestDatabase): void {
  let store: OpenedStore;
  beforeEach(async () => {
    store = await database().open();
  });

  function fill(): Promise<void> {
    return store.change(async (tx) => {
      await tx.addTenant(sampleTenant);
      await tx.addKey(sampleKey);
      await tx.addSecret(sampleSecret);
      await tx.audit(entry('key.issue', sampleKey.id));
    });
  }

  it('gives back exactly what it was given', async () => {
    await fill();
    expect(await store.tenant('acme')).to.deep.equal(sampleTenant);
    expect(await store.key('key_1')).to.deep.equal({ ...sampleKey, tenant: 'acme', secrets: [sampleSecret] });
    const { hash, expires_at, ended_at } = sampleSecret;
    const secret = { hash, expires_at, ended_at };
    const found: FoundSecret = { tenant: sampleTenant, key: sampleKey, secret };
    expect(await store.find(['f'.repeat(64), sampleSecret.hash])).to.deep.equal([found]);
    expect(await store.findKeys(['key_none', 'key_1'])).to.deep.equal([
      { tenant: sampleTenant, key: sampleKey },
    ]);
  });

  it('knows nothing of what is not there', async () => {
    expect(await store.tenant('acme')).to.equal(undefined);
    expect(await store.key('key_1')).to.equal(undefined);
    expect(await store.find(['f'.repeat(64)])).to.deep.equal([]);
    expect(await store.find([])).to.deep.equal([]);
    expect(await store.findKeys(['key_1'])).to.deep.equal([]);
    expect(await store.findKeys([])).to.deep.equal([]);
    expect(await store.lastChange()).to.equal(undefined);
  });

  it('undoes all of a change that fails', async () => {
    const failing = store.change(async (tx) => {
      await tx.addTenant(sampleTenant);
      await tx.audit(entry('tenant.create', null));
      throw new RangeError('half-way');
    });
    expect(await rejection(failing)).to.be.instanceOf(RangeError);
    expect((await store.tenants(byName)).rows).to.deep.equal([]);
    expect(await store.lastChange()).to.equal(undefined);
  });

  it('refuses a second tenant of one name, as the bug it is', async () => {
    await fill();
    const twice = store.change((tx) => tx.addTenant({ ...sampleTenant, id: 'ten_2' }));
    expect(await rejection(twice)).not.to.have.property('code', 'keys_unavailable');
  });

  it('sees in one process what another has committed', async () => {
    const other = await database().open();
    await fill();
    expect(await other.tenant('acme')).to.deep.equal(sampleTenant);
    await other.change(async (tx) => {
      await tx.updateKey('key_1', { revoked_at: 5, signing_version: 8 });
      await tx.updateTenant('ten_1', { rate: null });
      await tx.endSecret({ id: 'sec_1', expires_at: 6, ended_at: 7 });
    });
    const [found] = await store.find([sampleSecret.hash]);
    expect(found?.key).to.include({ revoked_at: 5, signing_version: 8 });
    expect(found?.tenant.limits.rate).to.equal(null);
    expect(found?.secret).to.include({ expires_at: 6, ended_at: 7 });
  });

  it('lets changes of two processes wait for each other', async () => {
    const other = await database().open();
    const add = (from: KeyStore, n: number) =>
      from.change(async (tx) => {
        const id = `ten_${n}`;
        expect(await tx.tenant(`t${n}`)).to.equal(undefined);
        await tx.addTenant({ ...sampleTenant, id, name: `t${n}` });
        await tx.audit({ ...entry('tenant.create', null), tenant_id: id });
      });
    await Promise.all(Array.from({ length: 40 }, (_, n) => add(n % 2 ? store : other, n)));
    expect((await store.tenants(byName)).rows).to.have.length(40);
    const ids = (await store.changesFrom(0, 100)).map((change) => change.id);
    expect(ids).to.deep.equal([...ids].sort((a, b) => a - b));
  });

  it('replaces and deletes recipes of one tenant, and none of another of the same name', async () => {
    const card = { name: 'card', definition: '{"summary":"Zoë 🔑"}', created_at: 5, updated_at: 5 };
    const recipe = (tenant_id: string, changes: Partial<Recipe> = {}) => ({ ...card, tenant_id, ...changes });
    await fill();
    await store.change(async (tx) => {
      await tx.addTenant({ ...sampleTenant, id: 'ten_2', name: 'globex' });
      for (const each of [recipe('ten_1', { name: 'z' }), recipe('ten_1'), recipe('ten_2')])
        await tx.putRecipe(each);
      await tx.putRecipe(recipe('ten_1', { definition: '{}', created_at: 9, updated_at: 9 }));
      expect(await tx.countRecipes('ten_1')).to.equal(2);
      expect(await tx.recipe('ten_2', 'z')).to.equal(undefined);
    });
    const changed = recipe('ten_1', { definition: '{}', updated_at: 9 });
    expect(await store.recipes('ten_1')).to.deep.equal([changed, recipe('ten_1', { name: 'z' })]);
    await store.change((tx) => tx.deleteRecipe(changed));
    expect(await store.recipe('ten_1', 'card')).to.equal(undefined);
    expect(await store.recipe('ten_2', 'card')).to.deep.equal(recipe('ten_2'));
  });

  it('keeps the audit log, newest first, and filters it', async () => {
    await fill();
    await store.change(async (tx) => {
      await tx.audit({ ...entry('key.revoke', 'key_2'), detail: { why: 'läuft' } });
      await tx.audit({ ...entry('tenant.create', null), tenant_id: 'ten_2' });
    });
    const all = await store.audit({ limit: 10 });
    expect(all.map((one) => one.action)).to.deep.equal(['tenant.create', 'key.revoke', 'key.issue']);
    expect(all[1]).to.deep.include({ actor: 'test', detail: { why: 'läuft' }, key_id: 'key_2' });
    expect(await store.audit({ key_id: 'key_2', limit: 10 })).to.have.length(1);
    expect(await store.audit({ tenant_id: 'ten_1', limit: 10 })).to.have.length(2);
    expect(await store.audit({ before: all[1]?.id, limit: 10 })).to.deep.equal([all[2]]);
  });

  it('follows changes from the one that is known', async () => {
    await fill();
    const last = (await store.lastChange()) as Change;
    expect(last).to.include({ at: 1, tenant_id: 'ten_1', key_id: 'key_1' });
    await store.change((tx) => tx.audit(entry('key.revoke', 'key_2')));
    const changes = await store.changesFrom(last.id, 10);
    expect(changes.map((change) => change.key_id)).to.deep.equal(['key_1', 'key_2']);
  });

  it('notifies its own process of a change once it is committed, and not of one that failed', async () => {
    const notified: unknown[] = [];
    const stop = store.onChange((changes) => notified.push(changes.map((change) => change.key_id)));
    await store
      .change(async (tx) => {
        await tx.audit(entry('key.issue', 'key_9'));
        throw new RangeError();
      })
      .catch(() => {});
    await fill();
    stop();
    await store.change((tx) => tx.audit(entry('key.revoke', sampleKey.id)));
    expect(notified).to.deep.equal([['key_1']]);
  });

  it('writes when keys were last used, and never moves it back', async () => {
    await fill();
    await store.touch(new Map());
    await store.touch(new Map(Object.entries({ key_1: 1_900_000_000_500, key_gone: 7 })));
    await store.touch(new Map([['key_1', 1_900_000_000_400]]));
    expect((await store.key('key_1'))?.last_used_at).to.equal(1_900_000_000_500);
    await store.touch(new Map(Array.from({ length: 1200 }, (_, n) => [`key_${n}`, 2_000_000_000_000])));
    expect((await store.key('key_1'))?.last_used_at).to.equal(2_000_000_000_000);
  });

  it('opens for several processes that start at once', async () => {
    const fresh = database();
    await Promise.all(Array.from({ length: 4 }, () => fresh.open()));
    await fill();
  });

  it('finds everything again when it is opened later', async () => {
    await fill();
    await store.close();
    const again = await database().open();
    expect(await again.key('key_1')).to.deep.equal({ ...sampleKey, tenant: 'acme', secrets: [sampleSecret] });
  });

  it('is keys_unavailable once it is closed', async () => {
    await store.close();
    expect(await rejection(store.tenant('acme'))).to.include({ code: 'keys_unavailable' });
  });
}

function entry(action: 'key.issue' | 'key.revoke' | 'tenant.create', key_id: string | null) {
  return { at: 1, actor: 'test', action, tenant_id: 'ten_1', key_id, detail: {} };
}

describe('keys/sql-store', () => onEachDatabase(keyStoreTests, { ownThread: true }));
