import { expect } from 'chai';
import { createDevices } from '../../../../gateway/site/accounts/devices.js';
import {
  type Attempt,
  createThrottle,
  networkOf,
  type Throttle,
} from '../../../../gateway/site/accounts/throttle.js';

const limits = { pair: 3, account: 6, address: 5, seconds: 60 };
const ada = 'ada@example.com';

describe('site/auth/throttle', () => {
  let throttle: Throttle;
  beforeEach(() => {
    throttle = createThrottle(limits);
  });
  async function attempts(count: number, tryer: Attempt): Promise<number[]> {
    const waits: number[] = [];
    for (let n = 0; n < count; n += 1) waits.push(await throttle.attempt(tryer));
    return waits;
  }
  async function signIn(tryer: Attempt): Promise<void> {
    expect(await throttle.attempt(tryer)).to.equal(0);
    await throttle.succeed(tryer);
  }
  /** Strangers, until they may not try any more. */
  async function guess(account: string): Promise<void> {
    for (let host = 1; host <= limits.account; host += 1) {
      await throttle.attempt({ address: `198.51.100.${host}`, account });
    }
    expect(await throttle.attempt({ address: '198.51.100.99', account })).to.be.greaterThan(0);
  }

  it('lets an account be tried a few times from one address, whatever its case', async () => {
    const address = '192.0.2.1';
    expect(await attempts(3, { address, account: 'Ada@example.com' })).to.deep.equal([0, 0, 0]);
    expect(await throttle.attempt({ address, account: ' ada@EXAMPLE.com ' })).to.be.within(1, 60);
  });

  it('does not lock an account for other addresses, however often one tries', async () => {
    await attempts(100, { address: '192.0.2.1', account: ada });
    for (let host = 2; host < 2 + limits.account - limits.pair; host += 1) {
      expect(await throttle.attempt({ address: `192.0.2.${host}`, account: ada })).to.equal(0);
    }
  });

  it('does not count for an address what was refused for the account', async () => {
    await attempts(100, { address: '192.0.2.1', account: ada });
    expect(await throttle.attempt({ address: '192.0.2.1', account: 'bob@example.com' })).to.equal(0);
  });

  it('stops guessing at one account from many addresses', () => guess(ada));

  it('counts nothing for the address of who meets an account that others have locked', async () => {
    await guess(ada);
    await attempts(20, { address: '192.0.2.1', account: ada });
    expect(await throttle.attempt({ address: '192.0.2.1', account: 'bob@example.com' })).to.equal(0);
  });

  it('lets in from where the account was signed in to before, while strangers guess', async () => {
    const home = { address: '192.0.2.1', account: 'Ada@example.com' };
    await signIn(home);
    await guess(ada);
    expect(await attempts(4, home)).to.satisfy((waits: number[]) => waits.slice(0, 3).every((w) => w === 0));
    expect(await throttle.attempt(home)).to.be.greaterThan(0);
    const other = { address: '192.0.2.1', account: 'bob@example.com' };
    await guess(other.account);
    expect(await throttle.attempt(other), 'an address is known for one account alone').to.be.greaterThan(0);
  });

  it('lets a known device in, whatever strangers do from its own address', async () => {
    await guess(ada);
    for (let n = 0; n < 10; n += 1) {
      await throttle.attempt({ address: '192.0.2.1', account: `user-${n}@example.com` });
    }
    expect(await throttle.attempt({ address: '192.0.2.1' })).to.be.greaterThan(0);
    await signIn({ address: '192.0.2.1', account: ada, device: 'one' });
  });

  it('holds a device to as few tries as a stranger, wherever it tries from', async () => {
    const waits: number[] = [];
    for (let host = 1; host <= 5; host += 1) {
      waits.push(await throttle.attempt({ address: `192.0.2.${host}`, account: ada, device: 'one' }));
    }
    expect(waits.filter((wait) => wait === 0)).to.have.length(3);
    expect(await throttle.attempt({ address: '192.0.2.1', account: ada, device: 'two' })).to.equal(0);
  });

  it('holds many devices of one account to a number together', async () => {
    for (let n = 0; n < limits.account; n += 1) {
      await throttle.attempt({ address: '192.0.2.1', account: ada, device: `forged-${n}` });
    }
    expect(
      await throttle.attempt({ address: '192.0.2.1', account: ada, device: 'forged' }),
    ).to.be.greaterThan(0);
  });

  it('stops one address that tries many accounts', async () => {
    const address = '192.0.2.1';
    for (let n = 0; n < 5; n += 1) await throttle.attempt({ address, account: `user-${n}@example.com` });
    expect(await throttle.attempt({ address, account: 'another@example.com' })).to.be.greaterThan(0);
    expect(await throttle.attempt({ address })).to.be.greaterThan(0);
  });

  it('counts a whole network of IPv6 as one address, and a mapped address as the one it is', async () => {
    for (let n = 0; n < 5; n += 1) await throttle.attempt({ address: `2001:db8:1:2::${n}` });
    expect(await throttle.attempt({ address: '2001:db8:1:2:ffff:ffff:ffff:ffff' })).to.be.greaterThan(0);
    expect(await throttle.attempt({ address: '2001:db8:1:3::1' })).to.equal(0);
    await attempts(5, { address: '::ffff:192.0.2.7' });
    expect(await throttle.attempt({ address: '192.0.2.7' })).to.be.greaterThan(0);
  });

  it('reads every spelling of an address', () => {
    for (const address of [
      '1.2.3.4',
      '::ffff:1.2.3.4',
      '::FFFF:1.2.3.4',
      '::ffff:102:304',
      '0:0:0:0:0:ffff:1.2.3.4',
    ]) {
      expect(networkOf(address), address).to.equal('1.2.3.4');
    }
    const network = networkOf('2001:db8:0:2::1');
    for (const address of ['2001:0db8:0000:0002:0:0:0:9', '2001:DB8::2:a:b:c:d', '2001:db8:0:2:ffff::']) {
      expect(networkOf(address), address).to.equal(network);
    }
    expect(networkOf('2001:db8::1')).to.not.equal(network);
    expect(networkOf('fe80::1%eth0')).to.equal(networkOf('fe80::2'));
    expect(networkOf('fe80:0:0:1::1%eth0')).to.not.equal(networkOf('fe80::1'));
    for (const text of ['', 'unknown', '1.2.3.4.5', 'fe80::1::2']) expect(networkOf(text)).to.equal(text);
  });

  it('does not count what succeeded', async () => {
    for (let n = 0; n < 20; n += 1) await signIn({ address: '192.0.2.1', account: ada });
  });

  it('holds tries that come all at once to the same number', async () => {
    const all = (tryer: (n: number) => Attempt) =>
      Promise.all(Array.from({ length: 30 }, (_, n) => throttle.attempt(tryer(n))));
    const allowed = (waits: number[]) => waits.filter((wait) => wait === 0).length;
    expect(allowed(await all(() => ({ address: '192.0.2.1', account: ada })))).to.equal(limits.pair);
    const rest = await all((n) => ({ address: `198.51.100.${n}`, account: ada }));
    expect(allowed(rest)).to.equal(limits.account - limits.pair);
  });
});

const day = 86_400_000;

describe('site/auth/devices', () => {
  let time = Date.now();
  const options = { secret: 's'.repeat(43), secureCookies: false, now: () => time };
  const devices = createDevices(options);
  const cookieOf = (set: string) => set.split(';')[0] ?? '';

  it('knows a browser by what it got, for its account alone and beside other cookies', () => {
    const cookie = `a=b; ${cookieOf(devices.remember('Ada@example.com'))}; c=d`;
    expect(devices.recognise(cookie, ' ada@example.com ')).to.match(/^[\w-]{22}$/);
    expect(devices.recognise(cookie, 'bob@example.com')).to.equal(undefined);
    expect(devices.recognise('', 'ada@example.com')).to.equal(undefined);
  });

  it('takes nothing that was changed, or signed by another secret', () => {
    const cookie = cookieOf(devices.remember('ada@example.com'));
    const [id = '', ends = '', signature = ''] = cookie.replace('hg_device=', '').split('.');
    const other = createDevices({ ...options, secret: 't'.repeat(43) });
    expect(other.recognise(cookie, 'ada@example.com')).to.equal(undefined);
    for (const changed of [
      `${'A'.repeat(22)}.${ends}.${signature}`,
      `${id}.${Number(ends) + 1}.${signature}`,
      `${id}.${ends}.${'A'.repeat(43)}`,
      `${id}.${ends}`,
      `${id}.${ends}.${signature}x`,
    ]) {
      expect(devices.recognise(`hg_device=${changed}`, 'ada@example.com'), changed).to.equal(undefined);
    }
  });

  it('forgets after ninety days', () => {
    const cookie = cookieOf(devices.remember('ada@example.com'));
    time += 90 * day;
    expect(devices.recognise(cookie, 'ada@example.com')).to.be.a('string');
    time += 1;
    expect(devices.recognise(cookie, 'ada@example.com')).to.equal(undefined);
  });

  it('keeps the mark from scripts, other sites and, off loopback, plain http', () => {
    expect(devices.remember('ada@example.com')).to.match(
      /^hg_device=.*; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Lax$/,
    );
    const secure = createDevices({ ...options, secureCookies: true });
    expect(secure.remember('ada@example.com')).to.match(/^__Host-hg_device=.*; Secure$/);
  });
});
