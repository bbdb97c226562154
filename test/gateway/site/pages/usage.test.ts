import { expect } from 'chai';
import fc from 'fast-check';
import { h } from 'preact';
import { render } from 'preact-render-to-string';
import { formatDuration } from '../../../../gateway/site/pages/elements.js';
import { niceCeiling, UsageChart } from '../../../../gateway/site/pages/usage.js';
import { type BrowserLike, hiddenFields } from '../browser-like.js';
import { join } from '../members.js';
import { sampleItems, sampleJob, useTestSite } from '../test-site.js';

const row = (day: string, service: string, calls: number) => ({ day, service, calls });
const draw = (rows: ReturnType<typeof row>[], days: string[]) => render(h(UsageChart, { rows, days }));

describe('site/pages: the usage chart', () => {
  it('ends its axis at 1, 2 or 5 times a power of ten, not below the peak and not far above it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e12 }), (peak) => {
        const top = niceCeiling(peak);
        expect(top).to.be.within(peak, Math.max(2, peak * 2.5));
        expect(String(top)).to.match(/^[125]0*$/);
      }),
    );
  });

  it('adds up the keys of a helper and stacks the helpers, without a style in it', () => {
    const rows = [row('2030-01-02', 'b', 5), row('2030-01-02', 'a', 3), row('2030-01-02', 'a', 2)];
    const svg = draw(rows, ['2030-01-01', '2030-01-02']);
    const bars = svg.matchAll(/<rect fill="var\(--s\d\)" x="([\d.]+)" y="([\d.]+)"[^>]* height="([\d.]+)"/g);
    const [a = [], b = [], none] = [...bars].map((found) => found.slice(1).map(Number));
    expect(none).to.equal(undefined);
    expect([a[0], a[2]]).to.deep.equal([b[0], b[2]]);
    expect((b[1] ?? 0) + (b[2] ?? 0)).to.equal(a[1]);
    expect(svg).to.include('<title>2030-01-02 a: 5</title>').and.not.to.include('style=');
  });

  it('escapes whatever a helper is called, and has colours for many', () => {
    expect(draw([row('2030-01-01', '<img onerror="x">', 1)], ['2030-01-01'])).not.to.include('<img');
    const rows = Array.from({ length: 30 }, (_, n) => row('2030-01-01', `helper-${n + 10}`, 1));
    expect(draw(rows, ['2030-01-01']))
      .to.include('--s7')
      .and.not.to.include('--s8');
  });

  it('writes times in the unit that fits', () => {
    const times = [0, 43.4, 999.6, 1250, 3_600_000].map(formatDuration);
    expect(times).to.deep.equal(['0 ms', '43 ms', '1.0 s', '1.3 s', '60.0 min']);
  });
});

describe('site: jobs', () => {
  const site = useTestSite();
  const page = '/tenants/acme/jobs/job_4fGhJ2kLm9pQ';
  let tenant: string;
  let browser: BrowserLike;
  before(async () => {
    tenant = (await site.admin.createTenant('acme', 'test')).id;
    browser = await join(site, 'acme', 'ada@acme.example');
  });
  beforeEach(() => site.jobs.splice(0));

  it('are listed with their progress, looked at again while one runs, and say how to make the first', async () => {
    const list = async () => (await browser.get('/tenants/acme/jobs')).html;
    expect(await list()).to.include('http://127.0.0.1:8080/jobs');
    site.jobs.push(sampleJob(tenant, { state: 'done', finished_at: '2026-11-01T11:00:00.000Z' }));
    expect(await list()).not.to.include('data-look-again');
    site.jobs.push(sampleJob(tenant), sampleJob('ten_other', { id: 'job_ofanother' }));
    for (const said of ['<rect class="bad" x="25" width="5"', '12 of 40', 'running', 'data-look-again'])
      expect(await list()).to.include(said);
    expect(await list()).not.to.include('job_ofanother');
  });

  it('are those of one state where the address names it, and of all where it names none that there is', async () => {
    site.jobs.push(
      sampleJob(tenant, { id: 'job_failed', state: 'failed' }),
      sampleJob(tenant, { id: 'job_running' }),
    );
    const shown = async (query: string) =>
      (await browser.get(`/tenants/acme/jobs${query}`)).html.match(/(?<=<code>)job_\w+/g);
    expect(await shown('?state=failed')).to.deep.equal(['job_failed']);
    for (const query of ['', '?state=none']) expect(await shown(query)).to.have.length(2);
  });

  it('show what became of each item, page by page', async () => {
    const waiting = Array.from({ length: 130 }, (_, index) => ({ index, state: 'waiting' as const }));
    site.jobs.push(sampleJob(tenant, {}, [...sampleItems, ...waiting.slice(sampleItems.length)]));
    const { html } = await browser.get(page);
    expect(html)
      .to.include('but is the string &quot;abc&quot;')
      .and.include('image/png, 90.2 kB')
      .and.include('?after=99');
    // Who looks again sees the same page.
    const next = await browser.get(`${page}?after=99`);
    expect(next.html).to.include('>129<').and.to.include('?after=99">Look again');
    expect((await browser.get('/tenants/acme/jobs/job_none')).status).to.equal(404);
  });

  it('can be cancelled', async () => {
    site.jobs.push(sampleJob(tenant));
    const { _token = '' } = hiddenFields((await browser.get(page)).html, `${page}/cancel`);
    expect(await browser.post(`${page}/cancel`, { _token })).to.include({ status: 303, location: page });
    expect((await browser.get(page)).html)
      .to.include('cancelled')
      .and.not.to.include('Cancel what waits');
  });
});
