import { expect } from 'chai';
import { createKey, digestOf } from '../../../gateway/keys/key-format.js';
import type { FoundSecret } from '../../../gateway/keys/model.js';
import type { Change, KeyStore } from '../../../gateway/keys/store.js';
import { createKeyVerifier } from '../../../gateway/keys/verifier.js';

type ReadStore = Pick<KeyStore, 'find' | 'lastChange' | 'changesFrom' | 'onChange' | 'touch'>;

const none = { expires_at: null, created_at: 1, revoked_at: null, last_used_at: null, ended_at: null };
const limits = { rate: null, burst: null, monthly_quota: null, in_flight: null };
const first = { webhook_version: 1, webhook_rotated_at: null };

/** A store of some keys, ten a tenant, that counts what is asked of it. */
function createManyKeys(count: number) {
  const keys = Array.from({ length: count }, createKey);
  const tenantOf = (at: number) => `ten_${Math.floor(at / 10)}`;
  const secrets = new Map(
    keys.map((key, at): [string, FoundSecret] => {
      const { hash, prefix, suffix } = digestOf(key);
      const id = `key_${at}`;
      const tenant = { id: tenantOf(at), name: tenantOf(at), created_at: 1, limits, weight: 1, ...first };
      const secret = { ...none, id, key_id: id, hash, prefix, suffix };
      return [
        hash,
        {
          secret,
          key: { ...none, id, tenant_id: tenant.id, label: null, scopes: null, signing_version: 1 },
          tenant,
        },
      ];
    }),
  );
  let changes: Change[] = [{ id: 1, at: 1, tenant_id: null, key_id: null }];
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
    change: (id: number, of: Partial<Change>) =>
      void changes.push({ id, at: id, tenant_id: null, key_id: null, ...of }),
    replaceHistory() {
      changes = [{ id: 1, at: 99, tenant_id: null, key_id: null }];
    },
  };
}

const still = { monotonic: () => 0, pollInterval: 2 ** 30, lastUsedInterval: 2 ** 30 };

async function createFilled(count: number, cacheSize: number) {
  const world = createManyKeys(count);
  const verifier = createKeyVerifier({ store: world.store, cacheSize, ...still });
  await verifier.refresh();
  const verifyAll = (keys: readonly string[]) =>
    Promise.all(keys.map(async (key) => (await verifier.verify(key)).state));
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
    expect(new Set(await verifyAll(keys.slice(50)))).to.deep.equal(new Set(['active']));
    expect(asked).to.deep.equal([]);
    expect(new Set(await verifyAll(keys.slice(0, 50)))).to.deep.equal(new Set(['active']));
    expect(asked).to.deep.equal([50]);
    await verifier.close();
  });

  it('gives up no good key to a flood of invented ones', async () => {
    const { keys, asked, verifier, verifyAll } = await createFilled(100, 100);
    for (let wave = 0; wave < 6; wave += 1) {
      const invented = Array.from({ length: 2_000 }, createKey);
      expect(new Set(await verifyAll(invented))).to.deep.equal(new Set(['unknown']));
    }
    asked.length = 0;
    expect(new Set(await verifyAll(keys))).to.deep.equal(new Set(['active']));
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
    expect(new Set(await verifyAll(keys))).to.deep.equal(new Set(['active']));
    expect(asked).to.deep.equal([]);
    await verifier.close();
  });
});
