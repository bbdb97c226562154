import { expect } from 'chai';
import { createBrowserLike } from '../browser-like.js';
import { goodPassword, invite } from '../members.js';
import { useTestSite } from '../test-site.js';

describe('site: the page of an invitation', () => {
  const site = useTestSite();
  before(async () => {
    await site.admin.createTenant('acme', 'test');
  });

  for (const name of ['a\u0000b', 'Ada \u202egnihton', 'a\nb', 'x'.repeat(101)]) {
    it(`refuses the name ${JSON.stringify(name.slice(0, 12))}, and the link can still be used`, async () => {
      const path = await invite(site, 'acme');
      const browser = createBrowserLike(site.url);
      const account = { email: 'ada@example.com', password: goodPassword, again: goodPassword };
      await browser.get(path);
      const refused = await browser.submit(path, { ...account, name });
      expect(refused.status).to.equal(400);
      expect(refused.html).to.include('without control characters');
      expect((await browser.get(path)).status).to.equal(200);
    });
  }

  it('refuses a password that is easy to guess, also by who knows the person', async () => {
    const path = await invite(site, 'acme');
    const browser = createBrowserLike(site.url);
    for (const password of ['aaaaaaaaaaaa', 'password1234', 'grace.hopper1']) {
      await browser.get(path);
      const account = { email: 'grace.hopper@example.com', name: 'Grace', password, again: password };
      const refused = await browser.submit(path, account);
      expect(refused.status, password).to.equal(400);
      expect(refused.html).to.include('New password is easy to guess; take four words or more');
    }
  });

  it('tells a few times only whether there is an account, and the link can still be used', async () => {
    const path = await invite(site, 'acme');
    const browser = createBrowserLike(site.url);
    const join = async (email: string) => {
      await browser.get(path);
      return browser.submit(path, { email, name: '', password: goodPassword, again: goodPassword });
    };
    for (let n = 0; n < 5; n += 1) {
      const refused = await join(site.operator.email.toUpperCase());
      expect(refused.status).to.equal(400);
      expect(refused.html).to.include('No account can be made with this e-mail');
    }
    const [taken, free] = [await join(site.operator.email), await join('free@example.com')];
    expect([taken.status, free.status]).to.deep.equal([429, 429]);
    expect(Number(free.headers.get('retry-after'))).to.be.within(1, 86_400);
    expect(free.html).to.include('Too many tries. Wait 24 hours');
    // Another's invitation is not held up by that, and who has an account may still take this one up with it.
    const other = await invite(site, 'acme');
    const guest = createBrowserLike(site.url);
    await guest.get(other);
    const account = { email: 'guest@example.com', name: '', password: goodPassword, again: goodPassword };
    expect((await guest.submit(other, account)).status).to.equal(303);
    expect(site.logs.join('')).to.not.include(goodPassword);
    await guest.get(path);
    expect((await guest.submit(path)).status).to.equal(303);
  });
});
