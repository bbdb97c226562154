import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { hashSecret, isCurrent } from '../../../gateway/keys/model.js';
import type { KeyStore } from '../../../gateway/keys/store.js';
import { onEachDatabase, type TestDatabase } from '../databases.js';
import { byName, oldestFirst } from './key-store-contract.js';
import type { Acknowledged } from './kill-child.js';

const rounds = Number(process.env.KILL_ROUNDS ?? 5);
const childFile = new URL('kill-child.js', import.meta.url).pathname;

describe('keys after kill -9', function () {
  this.timeout(120_000 + rounds * 10_000);

  onEachDatabase((database) => {
    it(`are whole, and hold all that was acknowledged, ${rounds} times`, async () => {
      const acknowledged: Acknowledged[] = [];
      for (let round = 0; round < rounds; round++) {
        const said = await runAndKill(database(), round);
        expect(said).not.to.have.length(0);
        acknowledged.push(...said);
        const store = await database().open();
        await expectAll(store, said);
        await expectWhole(store);
        await store.close();
      }
      const store = await database().open();
      await expectAll(store, acknowledged);
    });
  });
});

/** Lets a child change keys for a moment, kills it and returns what it had acknowledged. */
async function runAndKill({ kind, location }: TestDatabase, round: number): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [childFile, kind, location, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const ended = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), ended]);
  await sleep(Math.random() * 60);
  child.kill('SIGKILL');
  await ended;
  const lines = output.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

async function expectAll(store: KeyStore, acknowledged: Acknowledged[]): Promise<void> {
  const last = new Map(acknowledged.filter((one) => one.key).map((one) => [one.key as string, one]));
  for (const [key, { done }] of last) {
    const [found] = await store.find([hashSecret(key)]);
    expect(found, `${done} was lost`).not.to.equal(undefined);
    if (done === 'revoke') expect(found?.key.revoked_at).to.be.a('number');
  }
  const rotated = acknowledged.filter((one) => one.done === 'rotate').map((one) => one.tenant);
  for (const { key, tenant, done } of acknowledged) {
    if (done !== 'issue' || !rotated.includes(tenant)) continue;
    const [found] = await store.find([hashSecret(key as string)]);
    expect(found?.secret.ended_at, 'a rotation was lost').to.be.a('number');
  }
  for (const { tenant } of acknowledged) expect(await store.tenant(tenant)).not.to.equal(undefined);
}

/** Every row has what belongs to it: nothing is there by half. */
async function expectWhole(store: KeyStore): Promise<void> {
  const count = { tenants: 0, keys: 0, secrets: 0, revoked: 0 };
  for (const { tenant } of (await store.tenants({ ...byName, limit: 100_000 })).rows) {
    count.tenants += 1;
    for (const key of (await store.keys({ ...oldestFirst, tenant_id: tenant.id })).rows) {
      count.keys += 1;
      count.secrets += key.secrets.length;
      if (key.revoked_at !== null) count.revoked += 1;
      expect(key.secrets.filter(isCurrent)).to.have.length(1);
    }
  }
  const logged = (await store.audit({ limit: 100_000 })).map((entry) => entry.action);
  const times = (action: string) => logged.filter((one) => one === action).length;
  expect(count).to.deep.equal({
    tenants: times('tenant.create'),
    keys: times('key.issue'),
    secrets: times('key.issue') + times('key.rotate'),
    revoked: times('key.revoke'),
  });
}
