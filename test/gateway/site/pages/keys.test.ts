import { expect } from 'chai';
import { type BrowserLike, signedIn } from '../browser-like.js';
import { useTestSite } from '../test-site.js';

describe('the forms of tenants and keys', () => {
  const site = useTestSite();
  let browser: BrowserLike;
  before(async () => {
    await site.admin.createTenant('acme', 'test');
    browser = await signedIn(site.url, site.operator);
  });

  it('go back to the default where a limit or the weight is left empty', async () => {
    await site.admin.setLimits('acme', { rate: 7, weight: 9 }, 'test');
    await browser.get('/tenants/acme/limits');
    const saved = await browser.submit('/tenants/acme/limits', { rate: '', burst: '5', weight: ' ' });
    expect(saved.location).to.equal('/tenants/acme/limits?saved=1');
    const { limits, weight } = await site.admin.tenant('acme');
    expect(limits).to.deep.equal({ rate: null, burst: 5, monthly_quota: null, in_flight: null });
    expect(weight).to.equal(1);
  });

  it('say beside each field what is wrong with it, all at once', async () => {
    await browser.get('/tenants/acme/limits');
    const limits = await browser.submit('/tenants/acme/limits', {
      rate: '1.5',
      in_flight: 'many',
      weight: '0',
    });
    expect(limits.status).to.equal(400);
    for (const said of [
      'Requests a second must be a whole number from 0 to 1000000, but is the number 1.5.',
      'Tasks at once must be a whole number from 1 to 10000, but is the string &quot;many&quot;.',
      'Weight must be an integer from 1 to 100, but is the number 0.',
    ]) {
      expect(limits.html).to.include(said);
    }
    await browser.get('/tenants/acme');
    const wrong = {
      label: 'a\u202eb',
      expires_at: '2020-01-01',
      'scope:text/*': 'on',
      'scope:nothing/*': 'on',
    };
    const key = await browser.submit('/tenants/acme/keys', wrong);
    expect(key.status).to.equal(400);
    expect(key.html).to.include('Label must be one line of 1 to 100 characters');
    expect(key.html).to.include('May call has the unknown scope');
    expect(key.html).to.include('which has passed');
  });
});

describe('site: pages of a list', () => {
  const site = useTestSite();
  before(async () => {
    await site.admin.createTenant('acme', 'test');
  });

  for (const path of ['/tenants?after=', '/keys?after=', '/tenants/acme?after=', '/audit?before=']) {
    it(`${path} are not there where no page leads to them`, async () => {
      const browser = await signedIn(site.url, site.operator);
      for (const cursor of ['%00', 'A%20B', '-1', '1.5', '0x10']) {
        // A tenant's name may look like a number in hexadecimal.
        if (cursor === '0x10' && !path.startsWith('/audit')) continue;
        expect((await browser.get(path + cursor)).status, cursor).to.equal(404);
      }
    });
  }
});
