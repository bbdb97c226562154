import { expect } from 'chai';
import { TenantShares } from '../../../../gateway/jobs/runner/tenant-shares.js';

/** Gives out so many items one after the other; gives what each tenant had of the time. */
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

function open(tenants: string[], ...given: ConstructorParameters<typeof TenantShares>): TenantShares {
  const shares = new TenantShares(...given);
  for (const tenant of tenants) shares.open(tenant);
  return shares;
}

describe('jobs/runner, the shares of tenants', () => {
  it('are by the time that items take, not by their number, and by weight', () => {
    for (const [weight, cost] of [
      [1, 20],
      [3, 1],
    ] as const) {
      const shares = open(['a', 'b']);
      shares.weigh('a', weight);
      const time = serve(shares, 2_000, (tenant) => (tenant === 'a' ? 10 * cost : 10));
      expect((time.get('a') ?? 0) / (time.get('b') ?? 1)).to.be.closeTo(weight, 0.1);
    }
  });

  it('pass over a tenant that has nothing, which is not held against it', () => {
    const shares = open(['a', 'b']);
    shares.close('a');
    expect([...serve(shares, 20, () => 10).keys()]).to.deep.equal(['b']);
    shares.open('a');
    expect(serve(shares, 20, () => 10).get('a')).to.be.within(90, 120);
  });

  it('charge a tenant only once it is known what its item has cost', () => {
    const shares = open(['a', 'b']);
    const held = Array.from({ length: 4 }, () => shares.next());
    expect(held.map((share) => share?.tenant)).to.deep.equal(['a', 'b', 'a', 'b']);
    for (const share of held) share?.settle(share.tenant === 'a' ? 500 : 0);
    expect([shares.next()?.tenant, shares.next()?.tenant]).to.deep.equal(['b', 'b']);
  });

  it('forget tenants that have nothing, where they are many, and remember those that have', () => {
    const shares = open(['busy']);
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
    const shares = open(['a', 'b'], (given) => room || given === 0);
    const [a, b] = [shares.next(), shares.next()];
    expect([a?.tenant, b?.tenant, shares.next()]).to.deep.equal(['a', 'b', undefined]);
    b?.settle(10);
    expect([shares.next()?.tenant, shares.next()]).to.deep.equal(['b', undefined]);
    room = true;
    const next = Array.from({ length: 10 }, () => shares.next()?.tenant);
    expect(new Set(next)).to.deep.equal(new Set(['a', 'b']));
  });
});
