import { expect } from 'chai';
import { type BrowserLike, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import { useTestSite } from '../test-site.js';

describe('site: the search field of every page', () => {
  const site = useTestSite();
  let operator: BrowserLike;
  let member: BrowserLike;
  let key: { id: string; key: string };
  before(async () => {
    await site.admin.createTenant('acme', 'test');
    await site.admin.createTenant('globex', 'test');
    await site.admin.createTenant('initech', 'test');
    key = await site.admin.issueKey('acme', { label: 'billing' }, 'test');
    operator = await signedIn(site.url, site.operator);
    member = await join(site, 'globex', 'bob@globex.example');
  });

  /** Sends the field from some page, and follows where it leads. */
  async function find(text: string, by = operator) {
    await by.get('/account');
    const { location } = await by.submit('/search', { q: text });
    return location;
  }

  it('leads a whole key to the page of its key, and keeps it out of the address', async () => {
    expect(await find(key.key))
      .to.include(key.id)
      .and.not.to.include(key.key);
    const mistyped = `${key.key.slice(0, -1)}!`;
    expect(await find(mistyped)).to.equal(`/search?q=${key.key.slice(0, 7)}`);
    for (const pasted of [`Bearer ${key.key}`, `"${mistyped}`])
      expect(await find(pasted)).not.to.include(key.key.slice(8, -2));
  });

  it('keeps a key that was pasted into a list out of the address too', async () => {
    for (const list of ['/search', '/keys', '/tenants/acme'])
      expect((await operator.get(`${list}?q=${key.key}`)).location, list).to.equal(`/keys/${key.id}`);
    const { location } = await member.get(`/tenants/globex?q=${key.key}`);
    expect(location).to.equal(`/search?q=${key.key.slice(0, 7)}`);
  });

  it('leads straight to the only thing that it finds', async () => {
    for (const [text, found] of [
      ['NITE', '/tenants/initech'],
      // Bob's e-mail has it too.
      ['globex', '/tenants/globex'],
      [key.id, key.id],
    ] as const) {
      const { location } = await operator.get((await find(text)) ?? '');
      expect(location, text).to.include(found);
    }
  });

  it('says that nothing matches, in the words that were typed', async () => {
    const { status, html } = await operator.get((await find('<b>nothing</b>')) ?? '');
    expect(status).to.equal(200);
    expect(html).to.include('Nothing matches “&lt;b>nothing&lt;/b>”');
  });

  it('finds nothing of other tenants for a member', async () => {
    for (const text of [key.key, key.id, 'acme', 'billing']) {
      const page = await member.get((await find(text, member)) ?? '');
      expect([page.status, page.location], text).to.deep.equal([200, null]);
    }
  });
});
