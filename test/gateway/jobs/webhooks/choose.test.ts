import { expect } from 'chai';
import { choose } from '../../../../gateway/jobs/webhooks/choose.js';

describe('jobs/webhooks/choose', () => {
  const due = (tenant_id: string, waiting: number, oldest = 0) => ({ tenant_id, waiting, oldest });
  const idle = { running: () => 0, lastTurn: () => 0 };
  const chosen = (...given: Parameters<typeof choose>) =>
    Object.fromEntries(choose(...given).map(({ tenant, places }) => [tenant.tenant_id, places]));

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
    const lastTurn = (tenant: string) => turns[tenant] ?? 0;
    expect(chosen([due('a', 9, 1), due('b', 9, 5)], 1, 2, { ...idle, lastTurn })).to.deep.equal({ b: 1 });
    expect(chosen([due('c', 1, 5), due('d', 1, 4)], 1, 2, { ...idle, lastTurn })).to.deep.equal({ d: 1 });
  });
});
