import { expect } from 'chai';
import { createKey, digestOf, type FoundSecret } from '../../../gateway/keys/model.js';
import type { Change, KeyStore } from '../../../gateway/keys/store.js';
import { createKeyVerifier } from '../../../gateway/keys/verifier.js';
import { rejection } from './key-store-contract.js';
import { createVerifierWorld, foundSecret, type VerifierWorld } from './verifier-world.js';

type ReadStore = Pick<KeyStore, 'find' | 'lastChange' | 'changesFrom' | 'onChange' | 'touch'>;

const withoutSubject = { tenant_id: null, key_id: null, action: 'tenant.create' };

/** A store of some keys, ten a tenant, that counts what is asked of it. */
function createManyKeys(count: number) {
  const keys = Array.from({ length: count }, createKey);
  const secrets = new Map(
    keys.map((key, at): [string, FoundSecret] => {
      const digest = digestOf(key);
      return [digest.hash, foundSecret(`ten_${Math.floor(at / 10)}`, { id: `key_${at}`, ...digest })];
    }),
  );
  let changes: Change[] = [{ id: 1, at: 1, ...withoutSubject }];
  const asked: number[] = [];
  const store: ReadStore = {
    async find(hashes) {
      asked.push(hashes.length);
      return hashes.flatMap((hash) => secrets.get(hash) ?? []);
    },
    lastChange: async () => changes.at(-1),
    changesFrom: async (id) => changes.filter((change) => change.id >= id),
    onChange: () => () => {},
    touch: async () => {},
  };
  return {
    keys,
    asked,
    store: store as KeyStore,
    change: (id: number, of: Partial<Change>) => void changes.push({ id, at: id, ...withoutSubject, ...of }),
    replaceHistory() {
      changes = [{ id: 1, at: 99, ...withoutSubject }];
    },
  };
}

async function createFilled(count: number, cacheSize: number) {
  const world = createManyKeys(count);
  const still = { monotonic: () => 0, pollInterval: 2 ** 30, lastUsedInterval: 2 ** 30 };
  const verifier = createKeyVerifier({ store: world.store, cacheSize, ...still });
  await verifier.refresh();
  /** The states that there are among these keys. */
  const verifyAll = async (keys: readonly string[]) => [
    ...new Set(await Promise.all(keys.map(async (key) => (await verifier.verify(key)).state))),
  ];
  await verifyAll(world.keys);
  world.asked.length = 0;
  return { ...world, verifier, verifyAll };
}

/** Until nothing more is read. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
}

describe('keys/verifier, with many keys', () => {
  it('keeps as many as it may, and looks the others up together', async () => {
    const { keys, asked, verifier, verifyAll } = await createFilled(150, 100);
    expect(await verifyAll(keys.slice(50))).to.deep.equal(['active']);
    expect(asked).to.deep.equal([]);
    expect(await verifyAll(keys.slice(0, 50))).to.deep.equal(['active']);
    expect(asked).to.deep.equal([50]);
    await verifier.close();
  });

  it('gives up no good key to a flood of invented ones', async () => {
    const { keys, asked, verifier, verifyAll } = await createFilled(100, 100);
    for (let wave = 0; wave < 6; wave += 1) {
      const invented = Array.from({ length: 2_000 }, createKey);
      expect(await verifyAll(invented)).to.deep.equal(['unknown']);
    }
    asked.length = 0;
    expect(await verifyAll(keys)).to.deep.equal(['active']);
    expect(asked).to.deep.equal([]);
    await verifier.close();
  });

  it('reads no key again but those of a change', async () => {
    const { asked, change, verifier } = await createFilled(1_000, 1_000);
    change(2, { tenant_id: 'ten_7', key_id: 'key_71' });
    await verifier.refresh();
    await settled();
    expect(asked).to.deep.equal([1]);
    change(3, { tenant_id: 'ten_7' });
    await verifier.refresh();
    await settled();
    expect(asked).to.deep.equal([1, 10]);
    await verifier.close();
  });

  it('reads all again after a restore, a hundred at a time, and lets callers in between', async () => {
    const { keys, asked, replaceHistory, verifier, verifyAll } = await createFilled(1_000, 1_000);
    replaceHistory();
    await verifier.refresh();
    const [first = '', last = ''] = [keys[0], keys.at(-1)];
    await verifyAll([first, last]);
    expect(asked.length).to.be.at.most(4);
    await settled();
    expect(Math.max(...asked)).to.be.at.most(100);
    expect(asked.reduce((sum, size) => sum + size)).to.equal(1_000);
    asked.length = 0;
    expect(await verifyAll(keys)).to.deep.equal(['active']);
    expect(asked).to.deep.equal([]);
    await verifier.close();
  });
});

const minute = 60_000;

describe('keys/verifier, while the database is down', () => {
  let world: VerifierWorld;
  beforeEach(async () => {
    world = await createVerifierWorld();
  });
  afterEach(() => world.close());

  it('goes on for five minutes with the keys it knows, and says so once', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    world.store.fail(true);
    await world.pass(5 * minute);
    expect(await world.state(key)).to.equal('active');
    await world.pass(1_000);
    expect(await world.failure(key)).to.equal('keys_unavailable');
    world.store.fail(false);
    await world.pass(1_000);
    expect(await world.state(key)).to.equal('active');
    expect(world.log).to.deep.equal(['down', 'up']);
    expect(world.verifier.available()).to.equal(true);
  });

  it('knows a key that was in use when something about it changed', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    await world.elsewhere.editTenant('acme', { rate: 9 }, 'ann');
    const { key: second } = await world.elsewhere.rotateKey(id, {}, 'ann');
    await world.state(second);
    await world.verifier.refresh();
    await new Promise(setImmediate);
    world.store.fail(true);
    expect(await world.verifier.verify(key)).to.have.nested.property('tenant.limits.rate', 9);
    expect(await world.state(second)).to.equal('active');
  });

  it('never believes a key that it knows to have changed and could not read again', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    await world.elsewhere.revokeKey(id, 'ann');
    world.store.failLookups(true);
    await world.verifier.refresh();
    expect(await world.failure(key)).to.equal('keys_unavailable');
  });

  it('never says unknown, not even of a key that was unknown before', async () => {
    const stranger = createKey();
    await world.state(stranger);
    world.store.fail(true);
    expect(await world.failure(createKey())).to.equal('keys_unavailable');
    expect(await world.failure(stranger)).to.equal('keys_unavailable');
    expect(await world.state('typo')).to.equal('malformed');
  });

  it('speaks of keys, and logs the reason alone', async () => {
    world.store.fail(true);
    const error = await rejection(world.verifier.verify(createKey()));
    expect(error).to.include({ message: 'API keys cannot be checked at the moment.', retryAfter: 5 });
    expect(error).to.have.nested.property('cause.message').that.includes('ECONNREFUSED');
  });

  it('lets nobody wait for it', async () => {
    world.store.fail(true);
    await world.verifier.refresh();
    const before = world.store.reads();
    for (let n = 0; n < 20; n++) await world.failure(createKey());
    expect(world.store.reads()).to.equal(before);
  });

  it('still expires keys on time', async () => {
    const { key } = await world.admin.issueKey('acme', { expires_at: '2030-01-01T00:01:00Z' }, 'ann');
    await world.state(key);
    world.store.fail(true);
    await world.pass(minute);
    expect(await world.state(key)).to.equal('expired');
  });

  it('refuses a key revoked meanwhile as soon as it is back', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    world.store.fail(true);
    await world.pass(10_000);
    await world.elsewhere.revokeKey(id, 'ann');
    expect(await world.state(key)).to.equal('active');
    world.store.fail(false);
    await world.pass(1_000);
    expect(await world.state(key)).to.equal('revoked');
  });

  it('starts without it and finds its way when it comes', async () => {
    world.store.fail(true);
    const late = createKeyVerifier({ store: world.store, pollInterval: 5 });
    expect(((await rejection(late.verify(createKey()))) as { code: string }).code).to.equal(
      'keys_unavailable',
    );
    world.store.fail(false);
    await late.refresh();
    expect(await late.verify(createKey())).to.deep.equal({ state: 'unknown' });
    await late.close();
  });

  it('does not keep a known key waiting for a database that hangs', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    world.elapsed += 3_001;
    const release = world.store.hold();
    expect(await world.state(key)).to.equal('active');
    expect(world.log).to.deep.equal(['down']);
    release();
  });
});
