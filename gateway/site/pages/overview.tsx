import { Icon } from '../../http/page-shell.js';
import { dayMs } from '../../usage/store.js';
import { get, type PageCall } from '../page.js';
import type { HealthFact } from '../site.js';
import { Page } from './document.js';
import { formatCount, formatDuration, Notice, Table } from './elements.js';
import { Sparkline } from './figures.js';
import { Chips } from './lists.js';
import { NoticeTable } from './notices.js';
import { daysAgo, fillDays, formatShare, Traffic } from './traffic.js';

const tenantsShown = 10;
const noticesShown = 3;

export const overviewPages = [get.operator('/overview', overviewPage)];

/** By what the tenants of the overview are ordered. */
const orders = [
  ['', 'Calls'],
  ['errors', 'Errors'],
  ['cpu_ms', 'CPU'],
] as const;

/** Whether all is well, and who uses it. */
async function overviewPage({ site, query, mayChange }: PageCall) {
  const now = site.now();
  const today = daysAgo(now, 0);
  const by = (['errors', 'cpu_ms'] as const).find((order) => order === query.get('by')) ?? 'calls';
  const [days, { tenants }, { notices }, steps] = await Promise.all([
    site.reports.days({ from: daysAgo(now, 7), to: today }),
    site.admin.listTenants({ sort: by, order: 'desc', limit: tenantsShown }),
    site.notices.list({ limit: noticesShown }),
    mayChange ? firstSteps(site) : [],
  ]);
  const recent = notices.filter(({ at }) => Date.parse(at) > now - 7 * dayMs);
  const rows = await Promise.all(
    tenants
      .filter((tenant) => tenant[by] > 0)
      .map(async (tenant) => {
        const its = await site.reports.days({ from: daysAgo(now, 6), to: today, tenant: tenant.id });
        return { ...tenant, days: fillDays(its, now, 7) };
      }),
  );
  return (
    <Page title="Overview">
      <Health facts={site.health()} />
      {steps.some(({ done }) => !done) && <FirstSteps steps={steps} />}
      <Traffic rows={days} now={now} />
      {recent.length > 0 && (
        <div class="list-head">
          <h2>Notices</h2>
          <a href="/notices">All notices</a>
        </div>
      )}
      <NoticeTable notices={recent} ofAll />
      {rows.length > 0 && (
        <div class="list-head">
          <h2>Tenants, last 7 days</h2>
          <Chips name="by" label="Order" options={orders} />
          <a href="/tenants">All tenants</a>
        </div>
      )}
      <Table
        label="Tenants by their figures of the last seven days"
        rows={rows}
        columns={[
          { head: 'Tenant', rowHead: true, cell: ({ name }) => <a href={`/tenants/${name}`}>{name}</a> },
          { head: 'Calls', number: true, cell: ({ calls }) => formatCount(calls) },
          { head: 'Errors', number: true, cell: ({ errors, calls }) => formatShare(errors, calls) },
          { head: 'CPU', number: true, priority: 2, cell: ({ cpu_ms }) => formatDuration(cpu_ms) },
          {
            head: 'Seven days',
            priority: 2,
            cell: (row) => (
              <Sparkline values={row.days.map((day) => day[by])} label={`${by} of ${row.name} day by day`} />
            ),
          },
        ]}
      />
    </Page>
  );
}

/** One line where all is well; what is not is named in full. */
function Health({ facts }: { facts: readonly HealthFact[] }) {
  const faults = facts.filter(({ state }) => state !== 'good');
  const fine = facts.filter(({ state }) => state === 'good');
  return (
    <>
      {faults.map(({ name, value, state }) => (
        <Notice key={name} kind={state}>
          <strong>{name}</strong>: {value}
        </Notice>
      ))}
      <p class="health quiet">
        <Icon name="done" />
        {faults.length === 0 && 'All is well. '}
        {fine.map(({ name, value }) => `${name}: ${value}`).join(' · ')}
      </p>
    </>
  );
}

/** What an operator does first, and how far that is. */
async function firstSteps({ admin, apiUrl }: PageCall['site']) {
  const { tenants } = await admin.listTenants({ limit: 1 });
  const { keys } = await admin.searchKeys({ state: 'all', sort: 'last_used_at', order: 'desc', limit: 1 });
  const [tenant, key] = [tenants[0], keys[0]];
  const page = tenant ? `/tenants/${tenant.name}` : '/tenants/new';
  const own = 'A customer or a team: it owns keys, and limits and usage are its own.';
  const call = `Send it to ${apiUrl} with the key; it is counted here within seconds.`;
  return [
    { text: 'Create a tenant', hint: own, href: '/tenants/new', done: tenant !== undefined },
    {
      text: 'Issue a key',
      hint: 'It is shown once, with a line to try it.',
      href: `${page}#issue`,
      done: key !== undefined,
    },
    { text: 'Make a call', hint: call, href: page, done: typeof key?.last_used_at === 'string' },
  ];
}

function FirstSteps({ steps }: { steps: Awaited<ReturnType<typeof firstSteps>> }) {
  return (
    <section class="panel">
      <h2>First steps</h2>
      <ol class="steps">
        {steps.map(({ text, hint, href, done }) => (
          <li key={text} class={done ? 'done' : undefined}>
            <Icon name={done ? 'done' : 'open'} />
            <span>
              {done ? text : <a href={href}>{text}</a>}
              <span class="hidden">{done ? ' (done)' : ' (to do)'}</span>
              <small>{hint}</small>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
