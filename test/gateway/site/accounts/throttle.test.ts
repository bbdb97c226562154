import { expect } from 'chai';
import { createPasswordChecker } from '../../../../gateway/site/accounts/passwords.js';
import {
  type Attempt,
  createDevices,
  createThrottle,
  networkOf,
  type Throttle,
} from '../../../../gateway/site/accounts/throttle.js';
import { until } from '../../../needs.js';

const limits = { pair: 3, account: 6, address: 5, seconds: 60 };
const ada = 'ada@example.com';
const bob = 'bob@example.com';
const home = '192.0.2.1';

describe('site/accounts/throttle', () => {
  let throttle: Throttle;
  beforeEach(() => {
    throttle = createThrottle(limits);
  });

  /** How many of so many attempts are allowed; `n` counts them from 1. */
  async function allowed(count: number, attempt: (n: number) => Attempt): Promise<number> {
    const waits: number[] = [];
    for (let n = 1; n <= count; n += 1) waits.push(await throttle.attempt(attempt(n)));
    for (const wait of waits) expect(wait).to.be.within(0, limits.seconds);
    return waits.filter((wait) => wait === 0).length;
  }
  const from = (address: string, account?: string, device?: string) => () => ({ address, account, device });
  async function signIn(attempt: Attempt): Promise<void> {
    expect(await throttle.attempt(attempt)).to.equal(0);
    await throttle.succeed(attempt);
  }
  /** Strangers guess, until they may not try any more. */
  async function guess(account: string): Promise<void> {
    expect(await allowed(20, (n) => ({ address: `198.51.100.${n}`, account }))).to.equal(limits.account);
  }

  it('lets an account be tried a few times from one address, whatever its case, and nobody else pays', async () => {
    expect(await allowed(3, from(home, 'Ada@example.com'))).to.equal(3);
    expect(await allowed(100, from(home, ' ada@EXAMPLE.com '))).to.equal(0);
    expect(await allowed(1, from(home, bob)), 'another account').to.equal(1);
    const others = limits.account - limits.pair;
    expect(await allowed(others, (n) => ({ address: `192.0.2.${n + 1}`, account: ada }))).to.equal(others);
  });

  it('stops guessing at one account from many addresses, which counts for no address', async () => {
    await guess(ada);
    expect(await allowed(20, from(home, ada))).to.equal(0);
    expect(await allowed(1, from(home, bob))).to.equal(1);
  });

  it('lets in from where the account was signed in to before, while strangers guess', async () => {
    await signIn({ address: home, account: 'Ada@example.com' });
    await guess(ada);
    expect(await allowed(4, from(home, 'Ada@example.com'))).to.equal(3);
    await guess(bob);
    expect(await allowed(1, from(home, bob)), 'an address is known for one account alone').to.equal(0);
  });

  it('lets a known device in, whatever strangers do from its own address', async () => {
    await guess(ada);
    await allowed(10, (n) => ({ address: home, account: `user-${n}@example.com` }));
    expect(await allowed(1, from(home))).to.equal(0);
    await signIn({ address: home, account: ada, device: 'one' });
  });

  it('allows a device as few tries as a stranger, wherever it tries from, and all devices a number together', async () => {
    const one = (n: number) => ({ address: `192.0.2.${n}`, account: ada, device: 'one' });
    expect(await allowed(5, one)).to.equal(limits.pair);
    expect(await allowed(1, from(home, ada, 'two'))).to.equal(1);
    const forged = (n: number) => ({ address: home, account: bob, device: `forged-${n}` });
    expect(await allowed(10, forged)).to.equal(limits.account);
  });

  it('stops one address that tries many accounts', async () => {
    const many = (n: number) => ({ address: home, account: `user-${n}@example.com` });
    expect(await allowed(6, many)).to.equal(limits.address);
    expect(await allowed(1, from(home))).to.equal(0);
  });

  it('counts a whole network of IPv6 as one address, and every spelling of an address as the same', () => {
    for (const [network, addresses] of [
      ['1.2.3.4', ['::ffff:1.2.3.4', '::FFFF:1.2.3.4', '::ffff:102:304', '0:0:0:0:0:ffff:1.2.3.4']],
      ['2001:db8:0:2::/64', ['2001:0db8:0000:0002:0:0:0:9', '2001:DB8::2:a:b:c:d', '2001:db8:0:2:ffff::']],
      ['2001:db8:0:0::/64', ['2001:db8::1']],
      ['fe80:0:0:0::/64', ['fe80::1%eth0', 'fe80::2']],
      ['fe80:0:0:1::/64', ['fe80:0:0:1::1%eth0']],
    ] as const)
      for (const address of addresses) expect(networkOf(address), address).to.equal(network);
    for (const text of ['', 'unknown', '1.2.3.4.5', 'fe80::1::2']) expect(networkOf(text)).to.equal(text);
  });

  it('does not count what succeeded', async () => {
    for (let n = 0; n < 20; n += 1) await signIn({ address: home, account: ada });
  });

  it('allows tries that come all at once the same number', async () => {
    const all = async (attempt: (n: number) => Attempt) =>
      (await Promise.all(Array.from({ length: 30 }, (_, n) => throttle.attempt(attempt(n))))).filter(
        (wait) => wait === 0,
      ).length;
    expect(await all(from(home, ada))).to.equal(limits.pair);
    const rest = await all((n) => ({ address: `198.51.100.${n}`, account: ada }));
    expect(rest).to.equal(limits.account - limits.pair);
  });
});

describe('site/accounts/devices', () => {
  let time = Date.now();
  const options = { secret: 's'.repeat(43), secureCookies: false, now: () => time };
  const devices = createDevices(options);
  const cookie = devices.remember('Ada@example.com').split(';')[0] ?? '';

  it('knows a browser by what it got, for its account alone and beside other cookies', () => {
    expect(devices.recognise(`a=b; ${cookie}; c=d`, ` ${ada} `)).to.match(/^[\w-]{22}$/);
    expect(devices.recognise(cookie, bob)).to.equal(undefined);
    expect(devices.recognise('', ada)).to.equal(undefined);
  });

  it('refuses what was changed, or signed by another secret', () => {
    const [id = '', ends = '', signature = ''] = cookie.replace('hg_device=', '').split('.');
    const other = createDevices({ ...options, secret: 't'.repeat(43) });
    expect(other.recognise(cookie, ada)).to.equal(undefined);
    for (const changed of [
      `${'A'.repeat(22)}.${ends}.${signature}`,
      `${id}.${Number(ends) + 1}.${signature}`,
      `${id}.${ends}.${'A'.repeat(43)}`,
      `${id}.${ends}`,
      `${id}.${ends}.${signature}x`,
    ])
      expect(devices.recognise(`hg_device=${changed}`, ada), changed).to.equal(undefined);
  });

  it('forgets after ninety days', () => {
    time += 90 * 86_400_000;
    expect(devices.recognise(cookie, ada)).to.be.a('string');
    time += 1;
    expect(devices.recognise(cookie, ada)).to.equal(undefined);
  });

  it('keeps the mark from scripts, other sites and, off loopback, plain http', () => {
    expect(devices.remember(ada)).to.match(
      /^hg_device=.*; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Lax$/,
    );
    const secure = createDevices({ ...options, secureCookies: true });
    expect(secure.remember(ada)).to.match(/^__Host-hg_device=.*; Secure$/);
  });
});

describe('site/accounts/passwords', () => {
  const about = ['ada.lovelace@engines.example', 'Ada Lovelace', 'helper gateway operator'];
  const checker = createPasswordChecker();

  it('finds easy what a guesser would try first, and nothing else', async () => {
    for (const [guessable, passwords] of [
      [
        true,
        ['aaaaaaaaaaaa', 'password1234', 'P@ssw0rd1234', 'qwertyuiop12', '123456789012', 'abcdefghijkl'],
      ],
      [true, ['letmeinletmein', 'internationalization', 'password password', 'ada.lovelace1']],
      [true, ['lovelace2026!', 'engines.example', 'helper-gateway', 'operator1234']],
      [false, ['correct horse battery', 'a new password of mine', 'mh4kq-7wzpa-x2rfd-9tnve', 'vJ8#qLx2!pTz']],
      [false, ['пять разных русских слов', '五つの異なる日本語の言葉です']],
    ] as const)
      for (const password of passwords)
        expect(await checker.isGuessable(password, about), password).to.equal(guessable);
  });

  it('leaves the event loop alone meanwhile, whatever it is given', async () => {
    for (const costly of ['p455w0rd', '@4(1!$0+7', 'aeiost@4310!|$5+7', '1/1/11']) {
      // A machine that stalls may give this thread none of that time: it is asked again.
      const turns = await until(async () => {
        let turns = 0;
        const count = setInterval(() => {
          turns += 1;
        }, 1);
        await checker.isGuessable(costly.repeat(20).slice(0, 128), Array(50).fill(costly.repeat(500)));
        clearInterval(count);
        return turns > 1 && turns;
      });
      expect(turns, costly).to.be.above(1);
    }
  });

  it('refuses more passwords than it will soon have checked, and goes on with the others', async () => {
    const asked = Array.from({ length: 40 }, () => checker.isGuessable('correct horse battery', about));
    const settled = await Promise.allSettled(asked);
    const refused = settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason.code);
    expect([...new Set(refused)]).to.deep.equal(['busy']);
    expect(settled.length - refused.length).to.be.at.least(16);
  });
});
