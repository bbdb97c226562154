import { expect } from 'chai';

import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { createKey } from '../../../gateway/keys/key-format.js';
import { createKeyVerifier, type KeyVerifier } from '../../../gateway/keys/verifier.js';
import { createSqliteDatabase, type TestDatabase } from './databases.js';
import { createFaultyStore, type FaultyStore } from './faulty-store.js';
import { rejection } from './key-store-contract.js';

const START = Date.UTC(2030, 0, 1);
const MINUTE = 60_000;

describe('keys/verifier', () => {
  let database: TestDatabase;
  let store: FaultyStore;
  let admin: KeyAdmin;
  let elsewhere: KeyAdmin;
  let verifier: KeyVerifier;
  let wall: number;
  let elapsed: number;
  let log: string[];

  beforeEach(async () => {
    wall = START;
    elapsed = 0;
    log = [];
    database = await createSqliteDatabase();
    store = createFaultyStore(await database.open());
    const now = () => wall;
    admin = createKeyAdmin({ store, services: () => ['text/a'], now });
    elsewhere = createKeyAdmin({ store: await database.open(), services: () => ['text/a'], now });
    await admin.createTenant('acme', 'ann');
    verifier = createKeyVerifier({
      store,
      now,
      monotonic: () => elapsed,
      // Polls come when the tests say so.
      pollInterval: 2 ** 30,
      lastUsedInterval: 2 ** 30,
      onDown: () => log.push('down'),
      onUp: () => log.push('up'),
    });
    await verifier.refresh();
  });
  afterEach(async () => {
    await verifier.close();
    await database.drop();
  });

  /** Lets time pass, with a poll after each second as in life. */
  async function pass(ms: number): Promise<void> {
    for (let rest = ms; rest > 0; rest -= 1000) {
      wall += Math.min(rest, 1000);
      elapsed += Math.min(rest, 1000);
      await verifier.refresh();
    }
  }

  const state = async (key: string) => (await verifier.verify(key)).state;
  const failure = async (key: string) => ((await rejection(verifier.verify(key))) as { code: string }).code;

  it('tells whose key it is and what it may do', async () => {
    const { id, key } = await admin.issueKey('acme', { label: 'ci', scopes: ['text/*'] }, 'ann');
    const { id: tenantId, limits, weight } = await admin.tenant('acme');
    expect(await verifier.verify(key)).to.deep.equal({
      state: 'active',
      tenant: { id: tenantId, name: 'acme', limits, weight },
      key: { id, label: 'ci', scopes: ['text/*'] },
    });
  });

  it('refuses a malformed key without a look-up, and one nobody has with one', async () => {
    for (const text of ['', 'hg_', 'secret', `${createKey()}x`])
      expect(await state(text)).to.equal('malformed');
    expect(store.reads()).to.equal(0);
    const stranger = createKey();
    expect(await state(stranger)).to.equal('unknown');
    expect(await state(stranger)).to.equal('unknown');
    expect(store.reads()).to.equal(1);
  });

  it('reads a key once, however often and long it is used', async () => {
    const { key } = await admin.issueKey('acme', {}, 'ann');
    await verifier.refresh();
    for (let minute = 0; minute < 5; minute++) {
      expect(await state(key)).to.equal('active');
      await pass(10_000);
    }
    expect(store.reads()).to.equal(1);
  });

  it('asks the database once for a key that many send at the same time', async () => {
    const { key } = await admin.issueKey('acme', {}, 'ann');
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => state(key)));
    expect(new Set(verdicts)).to.deep.equal(new Set(['active']));
    expect(store.reads()).to.equal(1);
  });

  it('knows a revocation of its own process at once', async () => {
    const { id, key } = await admin.issueKey('acme', {}, 'ann');
    expect(await state(key)).to.equal('active');
    await admin.revokeKey(id, 'ann');
    expect(await state(key)).to.equal('revoked');
  });

  it('knows what another process did after the next poll', async () => {
    const { id, key } = await elsewhere.issueKey('acme', {}, 'ann');
    expect(await state(key)).to.equal('active');
    await elsewhere.setLimits('acme', { rate: 7 }, 'ann');
    await verifier.refresh();
    expect(await verifier.verify(key)).to.have.nested.property('tenant.limits.rate', 7);
    const rotated = await elsewhere.rotateKey(id, { grace_seconds: 0 }, 'ann');
    expect(await state(rotated.key)).to.equal('active');
    await verifier.refresh();
    expect(await state(key)).to.equal('expired');
    await elsewhere.revokeKey(id, 'ann');
    await verifier.refresh();
    expect(await state(rotated.key)).to.equal('revoked');
  });

  it('does not rely on polls that do not come: after three seconds it looks for itself', async () => {
    const { id, key } = await elsewhere.issueKey('acme', {}, 'ann');
    expect(await state(key)).to.equal('active');
    await elsewhere.revokeKey(id, 'ann');
    elapsed += 3_001;
    expect(await state(key)).to.equal('revoked');
  });

  it('judges expiry at every call, though the key is cached', async () => {
    const { key } = await admin.issueKey('acme', { expires_at: '2030-01-01T00:00:10Z' }, 'ann');
    expect(await state(key)).to.equal('active');
    wall += 9_999;
    expect(await state(key)).to.equal('active');
    wall += 1;
    expect(await state(key)).to.equal('expired');
  });

  it('ends a grace on time, and by hand at once, and a clock set back does not undo that', async () => {
    const { id, key } = await admin.issueKey('acme', {}, 'ann');
    const second = await admin.rotateKey(id, { grace_seconds: 60 }, 'ann');
    expect([await state(key), await state(second.key)]).to.deep.equal(['active', 'active']);
    wall += MINUTE;
    expect([await state(key), await state(second.key)]).to.deep.equal(['expired', 'active']);
    const third = await admin.rotateKey(id, {}, 'ann');
    await admin.endGrace(id, 'ann');
    wall -= 60 * MINUTE;
    expect([await state(second.key), await state(third.key)]).to.deep.equal(['expired', 'active']);
  });

  it('does not take a jump of the clock for an age of the cache', async () => {
    const { key } = await admin.issueKey('acme', {}, 'ann');
    await state(key);
    wall += 365 * 24 * 60 * MINUTE;
    expect(await state(key)).to.equal('active');
    wall -= 2 * 365 * 24 * 60 * MINUTE;
    expect(await state(key)).to.equal('active');
    expect(store.reads()).to.equal(1);
  });

  describe('while the database is down', () => {
    it('goes on for five minutes with the keys it knows, and says so once', async () => {
      const { key } = await admin.issueKey('acme', {}, 'ann');
      await state(key);
      store.fail(true);
      await pass(5 * MINUTE);
      expect(await state(key)).to.equal('active');
      await pass(1_000);
      expect(await failure(key)).to.equal('keys_unavailable');
      store.fail(false);
      await pass(1_000);
      expect(await state(key)).to.equal('active');
      expect(log).to.deep.equal(['down', 'up']);
      expect(verifier.available()).to.equal(true);
    });

    it('knows a key that was in use when something about it changed', async () => {
      const { id, key } = await admin.issueKey('acme', {}, 'ann');
      await state(key);
      await elsewhere.setLimits('acme', { rate: 9 }, 'ann');
      const { key: second } = await elsewhere.rotateKey(id, {}, 'ann');
      await state(second);
      await verifier.refresh();
      await new Promise(setImmediate);
      store.fail(true);
      expect(await verifier.verify(key)).to.have.nested.property('tenant.limits.rate', 9);
      expect(await state(second)).to.equal('active');
    });

    it('never believes a key that it knows to have changed and could not read again', async () => {
      const { id, key } = await admin.issueKey('acme', {}, 'ann');
      await state(key);
      await elsewhere.revokeKey(id, 'ann');
      store.failLookups(true);
      await verifier.refresh();
      expect(await failure(key)).to.equal('keys_unavailable');
    });

    it('never says unknown, not even of a key that was unknown before', async () => {
      const stranger = createKey();
      await state(stranger);
      store.fail(true);
      expect(await failure(createKey())).to.equal('keys_unavailable');
      expect(await failure(stranger)).to.equal('keys_unavailable');
      expect(await state('typo')).to.equal('malformed');
    });

    it('lets nobody wait for it', async () => {
      store.fail(true);
      await verifier.refresh();
      const before = store.reads();
      for (let n = 0; n < 20; n++) await failure(createKey());
      expect(store.reads()).to.equal(before);
    });

    it('still expires keys on time', async () => {
      const { key } = await admin.issueKey('acme', { expires_at: '2030-01-01T00:01:00Z' }, 'ann');
      await state(key);
      store.fail(true);
      await pass(MINUTE);
      expect(await state(key)).to.equal('expired');
    });

    it('refuses a key revoked meanwhile as soon as it is back', async () => {
      const { id, key } = await admin.issueKey('acme', {}, 'ann');
      await state(key);
      store.fail(true);
      await pass(10_000);
      await elsewhere.revokeKey(id, 'ann');
      expect(await state(key)).to.equal('active');
      store.fail(false);
      await pass(1_000);
      expect(await state(key)).to.equal('revoked');
    });

    it('starts without it and finds its way when it comes', async () => {
      store.fail(true);
      const late = createKeyVerifier({ store, pollInterval: 5 });
      expect(((await rejection(late.verify(createKey()))) as { code: string }).code).to.equal(
        'keys_unavailable',
      );
      store.fail(false);
      await late.refresh();
      expect(await late.verify(createKey())).to.deep.equal({ state: 'unknown' });
      await late.close();
    });

    it('does not keep a known key waiting for a database that hangs', async () => {
      const { key } = await admin.issueKey('acme', {}, 'ann');
      await state(key);
      elapsed += 3_001;
      const release = store.hold();
      expect(await state(key)).to.equal('active');
      expect(log).to.deep.equal(['down']);
      release();
    });
  });

  it('does not cache what a read brings that was overtaken by a revocation', async () => {
    const { id, key } = await admin.issueKey('acme', {}, 'ann');
    const release = store.holdAnswers();
    const early = state(key);
    await store.held();
    await admin.revokeKey(id, 'ann');
    const late = state(key);
    release();
    expect(await early).to.equal('active');
    // It joined the read that began before the revocation, and must not believe it.
    expect(await late).to.equal('revoked');
    expect(await state(key)).to.equal('revoked');
  });

  it('forgets everything when the database turns out to be another', async () => {
    const { key } = await admin.issueKey('acme', {}, 'ann');
    await verifier.refresh();
    await state(key);
    store.replaceHistory();
    await verifier.refresh();
    await state(key);
    expect(store.reads()).to.equal(2);
  });

  it('follows more changes than one poll can tell of', async () => {
    const { id, key } = await admin.issueKey('acme', {}, 'ann');
    await verifier.refresh();
    await state(key);
    const entry = {
      at: wall,
      actor: 'a',
      action: 'key.issue',
      tenant_id: 't',
      key_id: 'k',
      detail: {},
    } as const;
    await elsewhere.revokeKey(id, 'ann');
    const other = await database.open();
    await other.change(async (tx) => {
      for (let n = 0; n < 600; n++) await tx.audit(entry);
    });
    await verifier.refresh();
    expect(await state(key)).to.equal('revoked');
  });

  it('keeps good keys through a flood of invented ones, in few reads', async () => {
    const { key } = await admin.issueKey('acme', {}, 'ann');
    await state(key);
    const flood = Array.from({ length: 4_000 }, () => state(createKey()));
    const fresh = await admin.issueKey('acme', {}, 'ann');
    expect(await state(fresh.key)).to.equal('active');
    expect(new Set(await Promise.all(flood))).to.deep.equal(new Set(['unknown']));
    expect(store.reads()).to.be.lessThan(60);
  });

  it('refuses what a flood piles up too high, with keys_unavailable', async () => {
    const release = store.hold();
    const flood = Array.from({ length: 6_000 }, () =>
      verifier.verify(createKey()).catch((error) => error.code),
    );
    await new Promise(setImmediate);
    release();
    const outcomes = await Promise.all(flood);
    expect(outcomes.filter((outcome) => outcome === 'keys_unavailable').length).to.be.within(700, 1_100);
    expect(verifier.available()).to.equal(true);
  });

  it('writes when a key was last used in batches and at the end, not at each call', async () => {
    const { id, key } = await admin.issueKey('acme', {}, 'ann');
    wall += 5_000;
    await state(key);
    expect((await store.key(id))?.last_used_at).to.equal(null);
    await verifier.close();
    expect((await store.key(id))?.last_used_at).to.equal(START + 5_000);
  });
});
