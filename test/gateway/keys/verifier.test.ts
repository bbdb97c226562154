import { expect } from 'chai';
import { createKey, noKeyLimits, noLimits, type TenantLimits } from '../../../gateway/keys/model.js';
import type { KeyStatus } from '../../../gateway/keys/verifier.js';
import { createVerifierWorld, startTime, type VerifierWorld } from './verifier-world.js';

const minute = 60_000;
const entry = { at: startTime, actor: 'ann', tenant_id: null, key_id: null, detail: {} };

describe('keys/verifier', () => {
  let world: VerifierWorld;
  beforeEach(async () => {
    world = await createVerifierWorld();
  });
  afterEach(() => world.close());

  it('refuses a paused key until it is resumed, and every key of a suspended tenant', async () => {
    const { verifier, admin, store } = world;
    const { id, key } = await admin.issueKey('acme', {}, 'ann');
    const { id: tenant_id } = await admin.tenant('acme');
    const state = async () => (await verifier.verify(key)).state;
    const change = (values: { paused_at?: number | null; suspended_at?: number | null }) =>
      store.change(async (tx) => {
        const { paused_at, suspended_at } = values;
        if (paused_at !== undefined) await tx.updateKey(id, { paused_at });
        if (suspended_at !== undefined) await tx.updateTenant(tenant_id, { suspended_at });
        const key_id = paused_at === undefined ? null : id;
        await tx.audit({ ...entry, action: 'key.edit', tenant_id, key_id });
      });
    expect(await state()).to.equal('active');
    await change({ paused_at: startTime });
    expect(await state()).to.equal('paused');
    await change({ suspended_at: startTime });
    expect(await state()).to.equal('paused');
    await change({ paused_at: null });
    expect(await state()).to.equal('suspended');
    await change({ suspended_at: null });
    expect(await state()).to.equal('active');
  });

  it("goes by the tenant's own limits over those of its plan, and by an edited plan at once", async () => {
    const { verifier, admin, store } = world;
    const { key } = await admin.issueKey('acme', {}, 'ann');
    const { id: tenant_id } = await admin.tenant('acme');
    await admin.editTenant('acme', { burst: 7 }, 'ann');
    await putPlan({ rate: 3, burst: 1 }, 5);
    await store.change(async (tx) => {
      await tx.updateTenant(tenant_id, { plan: 'team' });
      await tx.audit({ ...entry, action: 'tenant.limits', tenant_id });
    });
    const held = async () => {
      const status = await verifier.verify(key);
      return status.state === 'active' ? { ...status.tenant.limits, weight: status.tenant.weight } : status;
    };
    expect(await held()).to.deep.equal({ ...noLimits, rate: 3, burst: 7, weight: 5 });
    await putPlan({ rate: 4 }, null);
    expect(await held()).to.deep.equal({ ...noLimits, rate: 4, burst: 7, weight: 1 });

    function putPlan(limits: Partial<TenantLimits>, weight: number | null) {
      return store.change(async (tx) => {
        const plan = { name: 'team', limits: { ...noLimits, ...limits }, weight };
        await tx.putPlan({ ...plan, created_at: 1, updated_at: 1 });
        await tx.audit({ ...entry, action: 'plan.put' });
      });
    }
  });

  it('says whose key it is and what it may do', async () => {
    const { id, key } = await world.admin.issueKey('acme', { label: 'ci', scopes: ['text/*'] }, 'ann');
    const { id: tenantId, limits, weight } = await world.admin.tenant('acme');
    expect(await world.verifier.verify(key)).to.deep.equal({
      state: 'active',
      tenant: { id: tenantId, name: 'acme', limits, weight },
      key: { id, label: 'ci', scopes: ['text/*'], limits: noKeyLimits },
    });
  });

  it('refuses a malformed key without a look-up, and one nobody has with one', async () => {
    for (const text of ['', 'hg_', 'secret', `${createKey()}x`])
      expect(await world.state(text)).to.equal('malformed');
    expect(world.store.reads()).to.equal(0);
    const stranger = createKey();
    expect(await world.state(stranger)).to.equal('unknown');
    expect(await world.state(stranger)).to.equal('unknown');
    expect(world.store.reads()).to.equal(1);
  });

  it('reads a key once, however often and long it is used', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.verifier.refresh();
    for (let minute = 0; minute < 5; minute++) {
      expect(await world.state(key)).to.equal('active');
      await world.pass(10_000);
    }
    expect(world.store.reads()).to.equal(1);
  });

  it('asks the database once for a key that many send at the same time', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => world.state(key)));
    expect(new Set(verdicts)).to.deep.equal(new Set(['active']));
    expect(world.store.reads()).to.equal(1);
  });

  it('knows a revocation of its own process at once', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    expect(await world.state(key)).to.equal('active');
    await world.admin.revokeKey(id, 'ann');
    expect(await world.state(key)).to.equal('revoked');
  });

  it('keeps what it knows while people sign in, here and elsewhere', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.verifier.refresh();
    const stranger = createKey();
    expect([await world.state(key), await world.state(stranger)]).to.deep.equal(['active', 'unknown']);
    const reads = world.store.reads();
    for (const store of [world.store, await world.database.open()]) {
      for (let n = 0; n < 20; n += 1) {
        await store.change((tx) => tx.audit({ ...entry, action: 'account.sign_in' }));
      }
      await world.verifier.refresh();
      expect([await world.state(key), await world.state(stranger)]).to.deep.equal(['active', 'unknown']);
    }
    expect(world.store.reads()).to.equal(reads);
  });

  it('knows what another process did after the next poll', async () => {
    const { id, key } = await world.elsewhere.issueKey('acme', {}, 'ann');
    expect(await world.state(key)).to.equal('active');
    await world.elsewhere.editTenant('acme', { rate: 7 }, 'ann');
    await world.verifier.refresh();
    expect(await world.verifier.verify(key)).to.have.nested.property('tenant.limits.rate', 7);
    const rotated = await world.elsewhere.rotateKey(id, { grace_seconds: 0 }, 'ann');
    expect(await world.state(rotated.key)).to.equal('active');
    await world.verifier.refresh();
    expect(await world.state(key)).to.equal('expired');
    await world.elsewhere.revokeKey(id, 'ann');
    await world.verifier.refresh();
    expect(await world.state(rotated.key)).to.equal('revoked');
  });

  it('does not rely on polls that do not come: after three seconds it looks for itself', async () => {
    const { id, key } = await world.elsewhere.issueKey('acme', {}, 'ann');
    expect(await world.state(key)).to.equal('active');
    await world.elsewhere.revokeKey(id, 'ann');
    world.elapsed += 3_001;
    expect(await world.state(key)).to.equal('revoked');
  });

  it('checks expiry at every call, though the key is cached', async () => {
    const { key } = await world.admin.issueKey('acme', { expires_at: '2030-01-01T00:00:10Z' }, 'ann');
    expect(await world.state(key)).to.equal('active');
    world.wall += 9_999;
    expect(await world.state(key)).to.equal('active');
    world.wall += 1;
    expect(await world.state(key)).to.equal('expired');
  });

  it('ends a grace on time, and by hand at once, and a clock set back does not undo that', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    const second = await world.admin.rotateKey(id, { grace_seconds: 60 }, 'ann');
    expect([await world.state(key), await world.state(second.key)]).to.deep.equal(['active', 'active']);
    world.wall += minute;
    expect([await world.state(key), await world.state(second.key)]).to.deep.equal(['expired', 'active']);
    const third = await world.admin.rotateKey(id, {}, 'ann');
    await world.admin.endGrace(id, 'ann');
    world.wall -= 60 * minute;
    const states = [await world.state(second.key), await world.state(third.key)];
    expect(states).to.deep.equal(['expired', 'active']);
  });

  it('does not take a jump of the clock for an age of the cache', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    world.wall += 365 * 24 * 60 * minute;
    expect(await world.state(key)).to.equal('active');
    world.wall -= 2 * 365 * 24 * 60 * minute;
    expect(await world.state(key)).to.equal('active');
    expect(world.store.reads()).to.equal(1);
  });

  it('does not cache what a read brings that was overtaken by a revocation', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    const release = world.store.holdAnswers();
    const early = world.state(key);
    await world.store.held();
    await world.admin.revokeKey(id, 'ann');
    const late = world.state(key);
    release();
    expect(await early).to.equal('active');
    // It joined the read that began before the revocation, and must not believe it.
    expect(await late).to.equal('revoked');
    expect(await world.state(key)).to.equal('revoked');
  });

  it('forgets everything when the database turns out to be another', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.verifier.refresh();
    await world.state(key);
    world.store.replaceHistory();
    await world.verifier.refresh();
    await world.state(key);
    expect(world.store.reads()).to.equal(2);
  });

  it('follows more changes than one poll reads', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.verifier.refresh();
    await world.state(key);
    await world.elsewhere.revokeKey(id, 'ann');
    const other = await world.database.open();
    await other.change(async (tx) => {
      for (let n = 0; n < 600; n++) {
        await tx.audit({ ...entry, action: 'key.issue', tenant_id: 't', key_id: 'k' });
      }
    });
    await world.verifier.refresh();
    expect(await world.state(key)).to.equal('revoked');
  });

  it('keeps good keys through a flood of invented ones, in few reads', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    const flood = Array.from({ length: 4_000 }, () => world.state(createKey()));
    const fresh = await world.admin.issueKey('acme', {}, 'ann');
    expect(await world.state(fresh.key)).to.equal('active');
    expect(new Set(await Promise.all(flood))).to.deep.equal(new Set(['unknown']));
    expect(world.store.reads()).to.be.lessThan(60);
  });

  it('refuses what a flood piles up too high, with keys_unavailable', async () => {
    const release = world.store.hold();
    const flood = Array.from({ length: 6_000 }, () =>
      Promise.resolve(world.verifier.verify(createKey())).catch((error) => error.code),
    );
    await new Promise(setImmediate);
    release();
    const outcomes = await Promise.all(flood);
    expect(outcomes.filter((outcome) => outcome === 'keys_unavailable').length).to.be.within(700, 1_100);
    expect(world.verifier.available()).to.equal(true);
  });

  it('writes when a key was last used in batches and at the end, not at each call', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    world.wall += 5_000;
    await world.state(key);
    expect((await world.store.key(id))?.last_used_at).to.equal(null);
    await world.verifier.close();
    expect((await world.store.key(id))?.last_used_at).to.equal(startTime + 5_000);
  });
});

describe('keys/verifier, of what is signed', () => {
  let world: VerifierWorld;
  let id: string;
  beforeEach(async () => {
    world = await createVerifierWorld();
    ({ id } = await world.admin.issueKey('acme', { scopes: ['text/*'] }, 'ann'));
  });
  afterEach(() => world.close());

  /** Verified as if it was signed by this version of the key's signing secret. */
  const verify = async (by = 1, kid = id): Promise<KeyStatus> =>
    world.verifier.verifySigned(kid, (version) => version === by);
  const state = async (by = 1, kid = id) => (await verify(by, kid)).state;

  it('says whose key signed and what it may do, from one read', async () => {
    await world.verifier.refresh();
    const { reads } = world.store;
    const began = reads();
    const verdict = await verify();
    const key = { id, label: null, scopes: ['text/*'], limits: noKeyLimits };
    expect(verdict).to.deep.include({ state: 'active', key });
    expect(verdict).to.have.nested.property('tenant.name', 'acme');
    await Promise.all(Array.from({ length: 50 }, () => verify()));
    await world.pass(10_000);
    expect(await state()).to.equal('active');
    expect(reads()).to.equal(began + 1);
  });

  it('says nothing of a key that did not sign', async () => {
    await world.admin.revokeKey(id, 'ann');
    expect(await state(9)).to.equal('unknown');
    expect(await state(1)).to.equal('revoked');
    expect(await state(1, 'key_nobody')).to.equal('unknown');
    expect(await state(1, 'no id')).to.equal('malformed');
  });

  it('minds no rotation of the key, with a grace or without', async () => {
    expect(await state()).to.equal('active');
    await world.admin.rotateKey(id, { grace_seconds: 0 }, 'ann');
    await world.elsewhere.rotateKey(id, {}, 'ann');
    await world.pass(100_000);
    expect(await state()).to.equal('active');
  });

  it('ends what was signed with its own process’s change at once, and another’s by the next poll', async () => {
    await state();
    await world.admin.rotateSigning(id, 'ann');
    expect([await state(1), await state(2)]).to.deep.equal(['unknown', 'active']);
    await world.elsewhere.rotateSigning(id, 'ann');
    expect(await state(2)).to.equal('active');
    await world.verifier.refresh();
    expect([await state(2), await state(3)]).to.deep.equal(['unknown', 'active']);
    await world.elsewhere.revokeKey(id, 'ann');
    await world.verifier.refresh();
    expect(await state(3)).to.equal('revoked');
  });

  it('takes the new secret of another process at once, though the feed has not got to it', async () => {
    await state();
    await world.elsewhere.rotateSigning(id, 'ann');
    expect(await state(2)).to.equal('active');
    expect(await state(1)).to.equal('unknown');
  });

  it('does not take a read for new that began before the rotation', async () => {
    await state();
    await world.verifier.refresh();
    await state();
    const release = world.store.holdAnswers();
    world.elapsed += 4_000;
    const early = verify(1);
    await world.store.held();
    // What is cached is believed again, while that read still goes on.
    await world.verifier.refresh();
    await world.elsewhere.rotateSigning(id, 'ann');
    const late = verify(2);
    release();
    await early;
    expect((await late).state).to.equal('active');
  });

  it('reads nothing for a flood of wrong signatures by a key that it knows', async () => {
    await state();
    const before = world.store.reads();
    for (let n = 0; n < 100; n += 1) expect(await state(7)).to.equal('unknown');
    expect(world.store.reads()).to.equal(before);
  });

  it('notes that the key was used', async () => {
    await state();
    await state(5);
    world.wall += 7_000;
    await state();
    await world.verifier.close();
    expect((await world.store.key(id))?.last_used_at).to.equal(startTime + 7_000);
  });
});
