import { expect } from 'chai';
import { createBrowserLike } from '../browser-like.js';
import { invite, PASSWORD } from '../join.js';
import { openTestSite, type TestSite } from '../test-site.js';

describe('connect: the page of an invitation', () => {
  let site: TestSite;
  before(async () => {
    site = await openTestSite();
    await site.admin.createTenant('acme', 'test');
  });
  after(() => site.close());

  for (const name of ['a\u0000b', 'Ada \u202egnihton', 'a\nb', 'x'.repeat(101)]) {
    it(`refuses the name ${JSON.stringify(name.slice(0, 12))}, and the link can still be used`, async () => {
      const path = await invite(site, 'acme');
      const browser = createBrowserLike(site.url);
      const account = { email: 'ada@example.com', password: PASSWORD, again: PASSWORD };
      await browser.get(path);
      const refused = await browser.submit(path, { ...account, name });
      expect(refused.status).to.equal(400);
      expect(refused.html).to.include('without control characters');
      expect((await browser.get(path)).status).to.equal(200);
    });
  }
});
