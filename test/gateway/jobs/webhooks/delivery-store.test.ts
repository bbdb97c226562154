import { expect } from 'chai';
import { chooseTenants, createDeliveryStore } from '../../../../gateway/jobs/webhooks/delivery-store.js';
import { onEachDatabase } from '../../databases.js';
import { type Deliveries, openDeliveries } from './sending.js';

const url = 'https://example.com/hook';

describe('jobs/webhooks/delivery-store', () =>
  onEachDatabase((database) => {
    let deliveries: Deliveries;
    let store: ReturnType<typeof createDeliveryStore>;
    let acme: string;
    let now: number;
    beforeEach(async () => {
      now = Date.UTC(2030, 0, 1);
      deliveries = await openDeliveries(database(), () => now);
      store = createDeliveryStore(deliveries.access);
      acme = await deliveries.tenant('acme');
    });
    const claim = (most = 10, by = store) => by.claim(acme, { most, now, until: now + 1000 });

    it('tells for whom something is due, with the secret that they are at', async () => {
      const globex = await deliveries.tenant('globex');
      await deliveries.tenant('idle');
      await deliveries.add(acme, url);
      now += 5;
      await deliveries.add(acme, url);
      await deliveries.add(globex, url);
      await deliveries.admin.rotateWebhookSecret('globex', 'test');
      const due = (await store.due(now)).sort((a, b) => a.waiting - b.waiting);
      expect(due).to.deep.equal([
        { tenant_id: globex, waiting: 1, oldest: now, webhook_version: 2, webhook_rotated_at: now },
        { tenant_id: acme, waiting: 2, oldest: now - 5, webhook_version: 1, webhook_rotated_at: null },
      ]);
      expect(await store.due(now - 6)).to.deep.equal([]);
    });

    it('hands out the oldest, to one alone, until the claim ends', async () => {
      await deliveries.add(acme, url, '{"n":1}');
      now += 1;
      await deliveries.add(acme, url);
      const [first, ...more] = await claim(1);
      expect(more).to.deep.equal([]);
      expect(first).to.deep.equal({
        id: 'msg_1',
        tenant_id: acme,
        url,
        payload: '{"n":1}',
        created_at: now - 1,
        due_at: now + 1000,
        attempts: 1,
      });
      expect((await claim()).map(({ id }) => id)).to.deep.equal(['msg_2']);
      expect(await claim()).to.deep.equal([]);
      now += 1000;
      expect((await claim()).map(({ attempts }) => attempts)).to.deep.equal([2, 2]);
    });

    it('gives each delivery to one of many processes', async () => {
      for (let n = 0; n < 20; n += 1) await deliveries.add(acme, url);
      const processes = await Promise.all(
        Array.from({ length: 4 }, async () => createDeliveryStore((await database().connect()).access())),
      );
      const claims = await Promise.all(processes.flatMap((one) => [claim(3, one), claim(3, one)]));
      const ids = claims.flat().map(({ id }) => id);
      expect(new Set(ids).size).to.equal(ids.length);
      expect((await deliveries.rows()).filter(({ attempts }) => attempts === 1)).to.have.length(ids.length);
    });

    it('has it tried later, or given back as if it had not been tried', async () => {
      await deliveries.add(acme, url);
      const [claimed] = await claim();
      if (!claimed) throw new Error('nothing was due');
      await store.retry(claimed, now + 5000);
      expect((await deliveries.rows())[0]).to.include({ due_at: now + 5000, attempts: 1 });
      now += 5000;
      const [again] = await claim();
      if (!again) throw new Error('nothing was due');
      await store.giveBack(again, now);
      const [row] = await deliveries.rows();
      expect(row).to.include({ due_at: now, attempts: 1 });
    });

    it('leaves a delivery to who has taken it after the claim had ended, and forgets it for all', async () => {
      await deliveries.add(acme, url);
      const [late] = await claim();
      now += 1000;
      const [other] = await claim();
      if (!late || !other) throw new Error('nothing was due');
      await store.retry(late, 1);
      await store.giveBack(late, 1);
      expect(await deliveries.rows()).to.deep.equal([other]);
      await store.end(late);
      expect(await deliveries.rows()).to.deep.equal([]);
      await store.retry(other, 1);
      expect(await deliveries.rows()).to.deep.equal([]);
    });
  }));

describe('jobs/webhooks/choose', () => {
  const due = (tenant_id: string, waiting: number, oldest = 0) => ({ tenant_id, waiting, oldest });
  const idle = { running: () => 0, lastTry: () => 0 };
  const chosen = (...given: Parameters<typeof chooseTenants>) =>
    Object.fromEntries(chooseTenants(...given).map(({ tenant, slots }) => [tenant.tenant_id, slots]));

  it('gives each tenant one before anybody two, and nobody more than is allowed or due', () => {
    const tenants = [due('a', 1000), due('b', 1), due('c', 5)];
    expect(chosen(tenants, 3, 2, idle)).to.deep.equal({ a: 1, b: 1, c: 1 });
    expect(chosen(tenants, 16, 2, idle)).to.deep.equal({ a: 2, b: 1, c: 2 });
    expect(chosen(tenants, 0, 2, idle)).to.deep.equal({});
  });

  it('counts what is under way already', () => {
    const running = (tenant: string) => (tenant === 'a' ? 2 : tenant === 'b' ? 1 : 0);
    const tenants = [due('a', 9), due('b', 9), due('c', 9)];
    expect(chosen(tenants, 1, 2, { ...idle, running })).to.deep.equal({ c: 1 });
    expect(chosen(tenants, 16, 2, { ...idle, running })).to.deep.equal({ b: 1, c: 2 });
  });

  it('gives a place to who has had none for longest, then to what has waited longest', () => {
    const turns: Record<string, number> = { a: 7, b: 3 };
    const lastTry = (tenant: string) => turns[tenant] ?? 0;
    expect(chosen([due('a', 9, 1), due('b', 9, 5)], 1, 2, { ...idle, lastTry })).to.deep.equal({ b: 1 });
    expect(chosen([due('c', 1, 5), due('d', 1, 4)], 1, 2, { ...idle, lastTry })).to.deep.equal({ d: 1 });
  });
});
