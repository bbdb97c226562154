import { expect } from 'chai';
import { signedIn } from './browser-like.js';
import { openTestSite, type TestSite } from './test-site.js';

describe('the key-management site without a script', () => {
  let site: TestSite;
  before(async () => {
    site = await openTestSite();
  });
  after(() => site.close());

  it('leads the first operator from signing in to a key that works', async () => {
    const browser = await signedIn(site.url, site.operator);
    const home = await browser.get('/overview');
    expect(home.status).to.equal(200);
    expect(home.html).to.include('No tenants yet');
    await browser.get('/tenants');
    const created = await browser.submit('/tenants', { name: 'acme' });
    expect(created.location).to.equal('/tenants/acme');
    await browser.get('/tenants/acme');
    const issued = await browser.submit('/tenants/acme/keys', { label: 'billing', 'scope:text/*': 'on' });
    expect(issued.status).to.equal(200);
    const key = /hg_\w+/.exec(issued.html)?.[0] ?? '';
    expect(await site.verifier.verify(key)).to.have.property('state', 'active');
  });
});
