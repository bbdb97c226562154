import { expect } from 'chai';
import { type ComponentChildren, createElement } from 'preact';
import { render } from 'preact-render-to-string';
import { emptyForm } from '../../../../gateway/site/page.js';
import { formatAgo, Moment, Table, ViewContext } from '../../../../gateway/site/pages/elements.js';
import { Bar, PartsBar } from '../../../../gateway/site/pages/figures.js';
import { Chips, Pager, readListQuery, SearchForm } from '../../../../gateway/site/pages/lists.js';
import { Traffic } from '../../../../gateway/site/pages/traffic.js';

const now = Date.parse('2026-11-25T22:50:00Z');

/** A part of a page at this address. */
function show(part: ComponentChildren, search = ''): string {
  const address = { path: '/keys', search, now, visitor: undefined, mayChange: true };
  const value = { ...address, formToken: '', form: emptyForm, mark: () => '' };
  return render(createElement(ViewContext.Provider, { value, children: part }));
}

const hrefs = (html: string) =>
  [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href?.replaceAll('&amp;', '&'));

describe('site: lists and figures', () => {
  it('show a moment as seen from now, with the exact one on hover', () => {
    expect(show(createElement(Moment, { at: now - 180_000 }))).to.equal(
      '<time datetime="2026-11-25T22:47:00.000Z" title="2026-11-25 22:47 UTC">3 minutes ago</time>',
    );
    expect(show(createElement(Moment, { at: now, exact: true }))).to.include('>2026-11-25 22:50 UTC<');
    expect(show(createElement(Moment, { at: null, none: 'never' }))).to.include('never');
    const hour = 3_600_000;
    for (const [ms, text] of [
      [0, 'just now'],
      [-59_000, 'just now'],
      [-60_000, '1 minute ago'],
      [-3_599_600, '1 hour ago'],
      [-36 * hour, '1 day ago'],
      [120 * hour, 'in 5 days'],
      [-24 * 400 * hour, '1 year ago'],
    ] as const)
      expect(formatAgo(ms), String(ms)).to.equal(text);
  });

  it('sort by a head that is a link, which turns the order round and starts at the first page', () => {
    const columns = [
      { head: 'Label', sort: 'label', cell: () => 'a' },
      { head: 'Calls', sort: 'calls', number: true, cell: () => 1 },
      { head: 'Scopes', cell: () => 'x', priority: 3 as const },
    ];
    const sorting = { by: 'calls', order: 'desc' as const };
    const table = createElement(Table, { label: 'Keys', rows: [1], columns, sorting });
    const html = show(table, 'q=a%26b&after=cursor');
    expect(hrefs(html)).to.deep.equal([
      '/keys?q=a%26b&sort=label&order=asc',
      '/keys?q=a%26b&sort=calls&order=asc',
    ]);
    expect(html.match(/aria-sort="\w+"/g)).to.deep.equal(['aria-sort="descending"']);
    expect(html).to.include('<td class="priority-3">');
  });

  it('lead to the pages beside one with the same filters, and to the first where that is all that is known', () => {
    const way = (props: Parameters<typeof Pager>[0], search: string) =>
      hrefs(show(createElement(Pager, props), search));
    expect(way({ previous: 'p', next: 'n' }, 'state=paused&after=x')).to.deep.equal([
      '/keys?state=paused&before=p',
      '/keys?state=paused&after=n',
    ]);
    expect(way({ next: null }, 'state=paused&after=x')).to.deep.equal(['/keys?state=paused']);
    expect(way({ previous: null, next: null }, '')).to.deep.equal([]);
  });

  it('keep the other filters where one is changed', () => {
    const options = [
      ['', 'In use'],
      ['paused', 'Paused'],
    ] as const;
    const chips = show(createElement(Chips, { name: 'state', label: 'State', options }), 'q=x&state=paused');
    expect(hrefs(chips)).to.deep.equal(['/keys?q=x', '/keys?q=x&state=paused']);
    expect(chips).to.match(/state=paused" aria-current="true"/);
    const search = show(createElement(SearchForm, { label: 'Label' }), 'q=x&state=paused&after=y');
    expect(search).to.include('<input type="hidden" name="state" value="paused"').and.not.to.include('after');
  });

  it('read an address: what is not said is the standard, and an order that there is none of too', () => {
    const standard = { by: 'calls', order: 'desc' } as const;
    const read = (search: string) => readListQuery(new Map(new URLSearchParams(search)), standard);
    expect(read('q=%20&order=up')).to.deep.include({ q: undefined, sort: 'calls', order: 'desc' });
    expect(read('q=ac&sort=name&order=asc&state=paused')).to.deep.include({
      ...{ q: 'ac', sort: 'name', order: 'asc', state: 'paused' },
    });
  });

  it('compare a day that is half over with half of a usual one', () => {
    const noon = Date.parse('2026-11-25T12:00:00Z');
    const day = { errors: 0, limited: 0, cpu_ms: 0, p95_ms: null };
    const rows = [
      { ...day, day: '2026-11-24', calls: 1_400 },
      { ...day, day: '2026-11-25', calls: 90 },
    ];
    expect(show(createElement(Traffic, { rows, now: noon })))
      .to.include('<dd>90</dd>')
      .and.to.include('usual: 100<');
  });

  it('say in words what a bar shows, and warn before a limit is reached', () => {
    const bar = (used: number, limit: number | null) => show(createElement(Bar, { used, limit }));
    expect(bar(620, 1000)).to.include('620 of 1,000 (62 %)').and.include('class="accent"');
    expect(bar(800, 1000)).to.include('class="warn"');
    expect(bar(1200, 1000)).to.include('class="bad" x="0" width="100"');
    expect(bar(5, null)).to.equal('5');
    const parts = [
      [1, 'good'],
      [2, 'bad'],
    ] as const;
    const job = show(createElement(PartsBar, { parts, of: 4, text: '3 of 4' }));
    expect(job).to.include('class="good" x="0" width="25"').and.include('class="bad" x="25" width="50"');
  });
});
