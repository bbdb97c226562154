import { expect } from 'chai';
import { type BrowserLike, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import { useTestSite } from '../test-site.js';

describe('site: the page of one key', () => {
  const site = useTestSite();
  let operator: BrowserLike;
  let issued: { id: string; key: string };
  let page: string;
  before(async () => {
    await site.admin.createTenant('acme', 'test');
    operator = await signedIn(site.url, site.operator);
  });
  beforeEach(async () => {
    const options = { label: 'billing', expires_at: '2030-01-31T12:00:00Z' };
    issued = await site.admin.issueKey('acme', options, 'test');
    page = `/keys/${issued.id}`;
  });

  async function send(action: string, fields: Record<string, string> = {}) {
    await operator.get(page);
    return operator.submit(action, fields);
  }
  const state = async () => (await site.verifier.verify(issued.key)).state;

  it('edits label, scopes and limits, and keeps the time of an expiry whose day is the same', async () => {
    const fields = { label: 'invoices', 'scope:text/*': 'on', expires_at: '2030-01-31', rate: '3' };
    expect((await send(page, fields)).location).to.equal(`${page}?done=edit`);
    expect(await site.admin.key(issued.id)).to.deep.include({
      label: 'invoices',
      scopes: ['text/*'],
      expires_at: '2030-01-31T12:00:00.000Z',
      limits: { rate: 3, monthly_quota: null, monthly_cpu_ms: null },
    });
    await send(page, { label: '', expires_at: '' });
    expect(await site.admin.key(issued.id)).to.deep.include({ label: null, scopes: null, expires_at: null });
    const refused = await send(page, { label: 'x', rate: 'fast' });
    expect([refused.status, refused.html.includes('must be a whole number')]).to.deep.equal([400, true]);
  });

  it('pauses after asking, and resumes', async () => {
    expect((await operator.get(`${page}/pause`)).html).to.include('Pause “billing”?');
    await operator.submit(`${page}/pause`);
    expect(await state()).to.equal('paused');
    expect((await operator.get(page)).html)
      .to.include('>paused<')
      .and.to.include('Resume');
    await send(`${page}/resume`);
    expect(await state()).to.equal('active');
  });

  it('says on its page that its tenant is suspended, and after a rotation that it is paused', async () => {
    await site.admin.editKey(issued.id, { state: 'paused' }, 'test');
    expect((await send(`${page}/rotate`, { grace_seconds: '0' })).html).to.include('once the key is resumed');
    await site.admin.editTenant('acme', { state: 'suspended' }, 'test');
    expect((await operator.get(page)).html).to.include('This tenant is suspended');
    await site.admin.editTenant('acme', { state: 'active' }, 'test');
  });

  it('says nothing of a step that no page leads to', async () => {
    for (const done of ['__proto__', 'constructor', 'x']) {
      const { status, html } = await operator.get(`${page}?done=${done}`);
      expect([status, html.includes('notice good')], done).to.deep.equal([200, false]);
    }
  });

  it('says how much the key is in use before it is rotated or revoked', async () => {
    expect((await operator.get(`${page}/revoke`)).html).to.include('It was never used.');
    await site.store.touch(new Map([[issued.id, Date.now() - 180_000]]));
    for (const step of ['rotate', 'revoke', 'pause'])
      expect((await operator.get(`${page}/${step}`)).html).to.include(
        'It was used 3 minutes ago, with 0 calls this week.',
      );
  });

  it('has each question as a dialog too, whose form is that of the page', async () => {
    const { html } = await operator.get(page);
    for (const step of ['rotate', 'pause', 'revoke'])
      expect(html)
        .to.include(`href="${page}/${step}" data-dialog="${step}"`)
        .and.include(`<dialog id="${step}"`)
        .and.include(`action="${page}/${step}"`);
  });

  it('leads from the address below its tenant to its own', async () => {
    expect((await operator.get(`/tenants/acme/keys/${issued.id}`)).location).to.equal(page);
  });

  it('lists the keys of all tenants without the revoked ones, and finds one by its first characters', async () => {
    await site.admin.createTenant('globex', 'test');
    const other = await site.admin.issueKey('globex', { label: 'other' }, 'test');
    await site.admin.revokeKey(issued.id, 'test');
    const shown = async (query: string) => {
      const { html } = await operator.get(`/keys${query}`);
      return [other.id, issued.id].map((id) => html.includes(`/keys/${id}"`));
    };
    expect(await shown('')).to.deep.equal([true, false]);
    expect(await shown('?state=revoked')).to.deep.equal([false, true]);
    expect(await shown(`?q=${other.key.slice(0, 7)}`)).to.deep.equal([true, false]);
    expect(await shown('?tenant=acme&state=all')).to.deep.equal([false, true]);
  });

  it('shows a viewer everything and no form', async () => {
    const viewer = await join(site, 'acme', 'vic@acme.example', 'viewer');
    const { status, html } = await viewer.get(page);
    expect(status).to.equal(200);
    expect(html).to.include('billing').and.not.to.include(`action="${page}`).and.not.to.include('Rotate…');
  });
});
