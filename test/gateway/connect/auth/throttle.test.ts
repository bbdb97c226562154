import { expect } from 'chai';
import { createThrottle, type Throttle } from '../../../../gateway/connect/auth/throttle.js';

const limits = { pair: 3, account: 6, address: 5, seconds: 60 };

describe('connect/auth/throttle', () => {
  let throttle: Throttle;
  beforeEach(() => {
    throttle = createThrottle(limits);
  });
  async function attempts(count: number, address: string, account?: string): Promise<number[]> {
    const waits: number[] = [];
    for (let n = 0; n < count; n += 1) waits.push(await throttle.attempt(address, account));
    return waits;
  }

  it('lets an account be tried a few times from one address, whatever its case', async () => {
    expect(await attempts(3, '192.0.2.1', 'Ada@example.com')).to.deep.equal([0, 0, 0]);
    expect(await throttle.attempt('192.0.2.1', ' ada@EXAMPLE.com ')).to.be.within(1, 60);
  });

  it('does not lock an account for another address by that', async () => {
    await attempts(4, '192.0.2.1', 'ada@example.com');
    expect(await throttle.attempt('192.0.2.2', 'ada@example.com')).to.equal(0);
  });

  it('stops guessing at one account from many addresses', async () => {
    for (let host = 1; host <= 6; host += 1) await throttle.attempt(`192.0.2.${host}`, 'ada@example.com');
    expect(await throttle.attempt('192.0.2.99', 'ada@example.com')).to.be.greaterThan(0);
  });

  it('stops one address that tries many accounts', async () => {
    for (let n = 0; n < 5; n += 1) await throttle.attempt('192.0.2.1', `user-${n}@example.com`);
    expect(await throttle.attempt('192.0.2.1', 'another@example.com')).to.be.greaterThan(0);
    expect(await throttle.attempt('192.0.2.1')).to.be.greaterThan(0);
  });

  it('counts a whole network of IPv6 as one address, and a mapped address as the one it is', async () => {
    for (let n = 0; n < 5; n += 1) await throttle.attempt(`2001:db8:1:2::${n}`);
    expect(await throttle.attempt('2001:db8:1:2:ffff:ffff:ffff:ffff')).to.be.greaterThan(0);
    expect(await throttle.attempt('2001:db8:1:3::1')).to.equal(0);
    await attempts(5, '::ffff:192.0.2.7');
    expect(await throttle.attempt('192.0.2.7')).to.be.greaterThan(0);
  });

  it('does not count what succeeded', async () => {
    for (let n = 0; n < 20; n += 1) {
      expect(await throttle.attempt('192.0.2.1', 'ada@example.com')).to.equal(0);
      await throttle.succeed('192.0.2.1', 'ada@example.com');
    }
  });

  it('holds tries that come all at once to the same number', async () => {
    const waits = await Promise.all(
      Array.from({ length: 30 }, () => throttle.attempt('192.0.2.1', 'ada@example.com')),
    );
    expect(waits.filter((wait) => wait === 0)).to.have.length(3);
  });
});
