import { expect } from 'chai';
import { createBrowserLike, signedIn } from './browser-like.js';
import { openTestSite, operatorToken } from './test-site.js';

describe('site: while the database is away', () => {
  it('says so, on pages and to programs, and tells the reason to the log alone', async () => {
    const site = await openTestSite();
    try {
      const browser = await signedIn(site.url, site.operator);
      const guest = createBrowserLike(site.url);
      await guest.get('/sign-in');
      await site.connect.handle.destroy();
      const page = await browser.get('/overview');
      expect([page.status, page.headers.get('retry-after')]).to.deep.equal([503, '5']);
      expect(page.html).to.include('The database does not answer').and.not.to.include('destroyed');
      const signIn = await guest.submit('/sign-in', { ...site.operator });
      expect(signIn.status).to.equal(503);
      expect(site.logs.join('')).to.include('keys_unavailable').and.include('destroyed');
      await site.store.close();
      const answer = await fetch(`${site.url}/api/tenants`, {
        headers: { authorization: `Bearer ${operatorToken}` },
      });
      expect(answer.status).to.equal(503);
      expect((await answer.json()).error).to.deep.equal({
        code: 'keys_unavailable',
        message: 'The database of this gateway does not answer at the moment.',
      });
    } finally {
      await site.close();
    }
  });
});
