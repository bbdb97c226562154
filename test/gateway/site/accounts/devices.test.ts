import { expect } from 'chai';
import { createDevices } from '../../../../gateway/site/accounts/devices.js';

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
