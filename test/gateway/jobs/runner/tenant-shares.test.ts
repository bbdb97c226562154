import { expect } from 'chai';
import { TenantShares } from '../../../../gateway/jobs/runner/tenant-shares.js';

/** Takes so many items one after the other, and gives what each tenant had of the time and of the items. */
function serve(shares: TenantShares, count: number, cost: (tenant: string) => number) {
  const time = new Map<string, number>();
  for (let at = 0; at < count; at += 1) {
    const share = shares.next();
    if (!share) break;
    const spent = cost(share.tenant);
    share.settle(spent);
    time.set(share.tenant, (time.get(share.tenant) ?? 0) + spent);
  }
  return time;
}

describe('jobs/runner, the shares of tenants', () => {
  it('are by the time that items take, not by their number', () => {
    const shares = new TenantShares();
    for (const tenant of ['heavy', 'light']) shares.open(tenant);
    const time = serve(shares, 2_000, (tenant) => (tenant === 'heavy' ? 200 : 10));
    expect((time.get('heavy') ?? 0) / (time.get('light') ?? 1)).to.be.within(0.9, 1.1);
  });

  it('are by weight', () => {
    const shares = new TenantShares();
    shares.weigh('big', 3);
    for (const tenant of ['big', 'small']) shares.open(tenant);
    const time = serve(shares, 2_000, () => 10);
    expect((time.get('big') ?? 0) / (time.get('small') ?? 1)).to.be.within(2.9, 3.1);
  });

  it('leave nobody out, whatever the others’ items cost and whoever comes', () => {
    const shares = new TenantShares();
    for (let at = 0; at < 50; at += 1) shares.open(`t${at}`);
    const time = serve(shares, 50, () => 1);
    expect(time.size).to.equal(50);
    shares.open('late');
    expect(serve(shares, 3, () => 1).has('late')).to.equal(true);
  });

  it('take nothing of a tenant that has nothing, which is not held against it', () => {
    const shares = new TenantShares();
    for (const tenant of ['a', 'b']) shares.open(tenant);
    shares.close('a');
    expect([...serve(shares, 20, () => 10).keys()]).to.deep.equal(['b']);
    shares.open('a');
    const time = serve(shares, 20, () => 10);
    expect(time.get('a')).to.be.within(90, 120);
  });

  it('charge a tenant only once it is known what its item has cost', () => {
    const shares = new TenantShares();
    for (const tenant of ['a', 'b']) shares.open(tenant);
    const held = Array.from({ length: 4 }, () => shares.next());
    expect(held.map((share) => share?.tenant)).to.deep.equal(['a', 'b', 'a', 'b']);
    for (const share of held) share?.settle(share.tenant === 'a' ? 500 : 0);
    expect([shares.next()?.tenant, shares.next()?.tenant]).to.deep.equal(['b', 'b']);
  });

  it('forget tenants that have nothing, where they are many, and remember those that have', () => {
    const shares = new TenantShares();
    shares.open('busy');
    const held = shares.next();
    for (let at = 0; at < 5_000; at += 1) {
      shares.open(`t${at}`);
      shares.weigh(`t${at}`, 2);
      shares.next()?.settle(at % 7);
      shares.close(`t${at}`);
    }
    held?.settle(10);
    expect(shares.known).to.be.below(1_100);
  });

  it('are no more than one for each tenant while there is no room for more', () => {
    let room = false;
    const shares = new TenantShares((given) => room || given === 0);
    for (const tenant of ['a', 'b']) shares.open(tenant);
    const [a, b] = [shares.next(), shares.next()];
    expect([a?.tenant, b?.tenant, shares.next()]).to.deep.equal(['a', 'b', undefined]);
    b?.settle(10);
    expect([shares.next()?.tenant, shares.next()]).to.deep.equal(['b', undefined]);
    room = true;
    const next = Array.from({ length: 10 }, () => shares.next()?.tenant);
    expect(new Set(next)).to.deep.equal(new Set(['a', 'b']));
  });
});
