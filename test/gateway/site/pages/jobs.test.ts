import { expect } from 'chai';
import { type BrowserLike, hiddenFields } from '../browser-like.js';
import { join } from '../members.js';
import { openTestSite, sampleJob, type TestSite } from '../test-site.js';

describe('site: jobs', () => {
  let site: TestSite;
  let tenant: string;
  let browser: BrowserLike;

  before(async () => {
    site = await openTestSite();
    tenant = (await site.admin.createTenant('acme', 'test')).id;
    browser = await join(site, 'acme', 'ada@acme.example');
  });
  beforeEach(() => site.jobs.splice(0));
  after(() => site.close());

  it('are listed with their progress, and say how to make the first', async () => {
    expect((await browser.get('/tenants/acme/jobs')).html).to.include('http://127.0.0.1:8080/jobs');
    site.jobs.push(sampleJob(tenant), sampleJob('ten_other', { id: 'job_ofanother' }));
    const { html } = await browser.get('/tenants/acme/jobs');
    expect(html)
      .to.match(/<progress max="40" value="12"/)
      .and.to.include('12 of 40')
      .and.to.include('running');
    expect(html).to.include('data-look-again').and.not.to.include('job_ofanother');
  });

  it('are looked at again only while one runs', async () => {
    site.jobs.push(sampleJob(tenant, { state: 'done', finished_at: '2026-11-01T11:00:00.000Z' }));
    expect((await browser.get('/tenants/acme/jobs')).html).not.to.include('data-look-again');
  });

  it('show what became of each item, page by page', async () => {
    const items = Array.from({ length: 130 }, (_, index) => ({ index, state: 'waiting' as const }));
    const [first, second] = [
      {
        index: 0,
        state: 'failed' as const,
        error: { code: 'invalid_input', message: 'no', details: [{ field: 'width', problem: 'must be <5' }] },
      },
      {
        index: 1,
        state: 'done' as const,
        result: { type: 'image/png', bytes: 2048, url: '/jobs/x/items/1' },
      },
    ];
    site.jobs.push(sampleJob(tenant, {}, [first, second, ...items.slice(2)]));
    const { html } = await browser.get('/tenants/acme/jobs/job_4fGhJ2kLm9pQ');
    expect(html).to.include('width must be &lt;5').and.to.include('image/png, 2 kB');
    expect(html).to.include('?after=99');
    const { html: next } = await browser.get('/tenants/acme/jobs/job_4fGhJ2kLm9pQ?after=99');
    // Who looks again sees the same page.
    expect(next).to.include('>129<').and.to.include('?after=99">Look again');
    expect((await browser.get('/tenants/acme/jobs/job_none')).status).to.equal(404);
  });

  it('can be called off', async () => {
    site.jobs.push(sampleJob(tenant));
    const path = '/tenants/acme/jobs/job_4fGhJ2kLm9pQ';
    const { html } = await browser.get(path);
    const { _token = '' } = hiddenFields(html, `${path}/cancel`);
    const sent = await browser.post(`${path}/cancel`, { _token });
    expect(sent).to.include({ status: 303, location: path });
    const after = await browser.get(path);
    expect(after.html).to.include('cancelled').and.not.to.include('Cancel what waits');
  });
});
