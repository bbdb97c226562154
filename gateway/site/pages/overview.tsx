import { dayMs, dayOf } from '../../usage/store.js';
import { get, type PageCall } from '../page.js';
import type { HealthFact } from '../site.js';
import { Page } from './document.js';
import { Empty, formatCount, Table } from './elements.js';

const tenantsShown = 20;

export const overviewPages = [get.operator('/overview', overviewPage)];

/** Whether all is well, and what the tenants did this week. */
async function overviewPage({ site }: PageCall) {
  const { tenants, next } = await site.admin.listTenants({ limit: tenantsShown });
  const from = dayOf(site.now() - 6 * dayMs);
  const week = await Promise.all(
    tenants.map(async ({ id, name }) => {
      const { rows } = await site.usage(id, { from, limit: 5000 });
      const sum = (field: 'calls' | 'errors') => rows.reduce((total, row) => total + row[field], 0);
      return { name, calls: sum('calls'), errors: sum('errors') };
    }),
  );
  return (
    <Page title="Overview">
      <Health facts={site.health()} />
      <h2>Last 7 days</h2>
      <Empty of={tenants} title="No tenants yet">
        Everything here belongs to a tenant, a customer or a team. <a href="/tenants">Create the first one</a>
        .
      </Empty>
      <Table
        label="Calls of the last seven days by tenant"
        rows={week}
        columns={[
          { head: 'Tenant', rowHead: true, cell: ({ name }) => <a href={`/tenants/${name}`}>{name}</a> },
          { head: 'Calls', number: true, cell: ({ calls }) => formatCount(calls) },
          { head: 'Errors', number: true, cell: ({ errors }) => formatCount(errors) },
          { head: 'More', hiddenHead: true, cell: ({ name }) => usageLink(name) },
        ]}
      />
      {next && (
        <p class="quiet">
          The first {tenantsShown} tenants by name. <a href="/tenants">All tenants</a>
        </p>
      )}
    </Page>
  );
}

const healthWords = { good: 'fine', warn: 'look at this', bad: 'broken' };

function Health({ facts }: { facts: readonly HealthFact[] }) {
  return (
    <ul class="health" aria-label="Health">
      {facts.map(({ name, value, state }) => (
        <li key={name} class={state}>
          <span class="fact-name">{name}</span>
          <span class="fact-value">{value}</span>
          <span class={`fact-state ${state}`}>{healthWords[state]}</span>
        </li>
      ))}
    </ul>
  );
}

function usageLink(name: string) {
  return (
    <a href={`/tenants/${name}/usage`}>
      Usage<span class="hidden"> of {name}</span>
    </a>
  );
}
