import { expect } from 'chai';
import { signedIn } from '../browser-like.js';
import { openTestSite, type TestSite } from '../test-site.js';

describe('site: pages of a list', () => {
  let site: TestSite;
  before(async () => {
    site = await openTestSite();
    await site.admin.createTenant('acme', 'test');
  });
  after(() => site.close());

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
