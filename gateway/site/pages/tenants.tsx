import { tenantName } from '../../keys/schemas.js';
import { formState, get, type PageCall, post, readList, refused } from '../page.js';
import { Page } from './document.js';
import {
  Changes,
  Empty,
  Field,
  Form,
  formatCount,
  formatDuration,
  Moment,
  State,
  Table,
} from './elements.js';
import { Chips, Pager, readListQuery, SearchForm } from './lists.js';
import { formatShare } from './traffic.js';

const tenantsShown = 50;

/** All tenants, and the form for another. */
export const tenantsPages = [
  get.operator('/tenants', tenantsPage),
  get.operator('/tenants/new', async () => newTenantPage()),
  post.operator('/tenants', async (call) => {
    const name = (call.form.get('name') ?? '').trim();
    try {
      await call.site.admin.createTenant(name, call.actor);
      return { redirect: `/tenants/${name}` };
    } catch (error) {
      return refused(formState(error, call.form, 'name'), newTenantPage());
    }
  }),
];

const states = [
  ['', 'All'],
  ['active', 'Active'],
  ['suspended', 'Suspended'],
] as const;

async function tenantsPage({ site, query }: PageCall) {
  const { sorting, ...asked } = readListQuery(query, { by: 'calls', order: 'desc' });
  const plan = query.get('plan') || undefined;
  const { tenants, previous, next } = await readList(() =>
    site.admin.listTenants({ ...asked, plan, limit: tenantsShown }),
  );
  const isFiltered = asked.q || asked.state || plan;
  return (
    <Page title="Tenants">
      <div class="list-head">
        <SearchForm label="Name, external id or note" />
        <Chips name="state" label="State" options={states} />
        <a href="/plans">Plans</a>
        <Changes>
          <a class="button" href="/tenants/new">
            New tenant
          </a>
        </Changes>
      </div>
      <Empty of={tenants} title={isFiltered ? 'No tenant matches' : 'No tenants yet'}>
        {isFiltered ? (
          <a href="/tenants">Show all tenants</a>
        ) : (
          <>
            A tenant is a customer or a team: it owns keys, and limits and usage are its own.{' '}
            <Changes>
              <a href="/tenants/new">Create the first one</a>, then issue a key for it.
            </Changes>
          </>
        )}
      </Empty>
      <Table
        label="Tenants, with their calls of 7 days"
        rows={tenants}
        sorting={sorting}
        columns={[
          {
            head: 'Name',
            rowHead: true,
            sort: 'name',
            cell: ({ name, state, external_id }) => (
              <>
                <a href={`/tenants/${name}`}>{name}</a> {state === 'suspended' && <State state={state} />}
                {external_id && <small class="under">{external_id}</small>}
              </>
            ),
          },
          { head: 'Calls', number: true, sort: 'calls', cell: ({ calls }) => formatCount(calls) },
          {
            head: 'Errors',
            number: true,
            sort: 'errors',
            cell: ({ errors, calls }) => formatShare(errors, calls),
          },
          {
            head: 'CPU',
            number: true,
            sort: 'cpu_ms',
            priority: 2,
            cell: ({ cpu_ms }) => formatDuration(cpu_ms),
          },
          {
            head: 'Last used',
            priority: 2,
            sort: 'last_used_at',
            cell: ({ last_used_at }) => <Moment at={last_used_at} none="never" />,
          },
          { head: 'Plan', priority: 3, cell: ({ plan }) => plan ?? <span class="quiet">none</span> },
          {
            head: 'Created',
            sort: 'created_at',
            priority: 3,
            cell: ({ created_at }) => <Moment at={created_at} />,
          },
        ]}
      />
      <Pager previous={previous} next={next} />
    </Page>
  );
}

function newTenantPage() {
  return (
    <Page title="New tenant" narrow>
      <p class="lead">A tenant is a customer or a team: it owns keys, and limits and usage are its own.</p>
      <Form action="/tenants">
        <Field
          name="name"
          label="Name"
          required
          maxLength={tenantName.maxLength}
          hint={`1 to ${tenantName.maxLength} of a–z, 0–9 and -, such as acme or team-7. It stands in the addresses of its pages.`}
        />
        <button type="submit">Create tenant</button>
      </Form>
    </Page>
  );
}
