import { formState, get, postOnce, readList, refused, type TenantCall } from '../page.js';
import { type Service, servicesFor } from '../site.js';
import { Page } from './document.js';
import { Changes, Empty, Form } from './elements.js';
import { KeyFields, KeyTable, keyStates, newKeyPage, readKeyForm } from './keys.js';
import { Chips, Pager, readListQuery, SearchForm } from './lists.js';
import { redirectSecret } from './search.js';
import { SuspendedNotice, Suspension } from './settings.js';
import { daysAgo, Traffic } from './traffic.js';

const keysPerPage = 50;

/** A tenant's own overview: its traffic, its keys, and the form for another key. */
export const tenantPages = [
  get.tenant(
    '/tenants/:tenant',
    async (call) => (await redirectSecret(call, call.query.get('q'))) ?? tenantPage(call),
  ),
  // A reload of the page that shows a new key leads here, once the browser has forgotten the form.
  get.tenant('/tenants/:tenant/keys', async ({ tenant, search }) => ({
    redirect: `/tenants/${tenant.name}${search && `?${search}`}`,
  })),
  postOnce.tenant('/tenants/:tenant/keys', issueKey),
];

async function issueKey(call: TenantCall) {
  const { site, form, tenant, actor } = call;
  try {
    const issued = await site.admin.issueKey(tenant.name, readKeyForm(form), actor);
    const until = issued.expires_at ? ` It stops working on ${issued.expires_at.slice(0, 10)}.` : '';
    return newKeyPage(call, issued, `It works at once.${until}`);
  } catch (error) {
    return refused(formState(error, form, 'label'), await tenantPage(call));
  }
}

async function tenantPage({ site, query, tenant, visitor, mayChange }: TenantCall) {
  const { id, name } = tenant;
  const { sorting, ...asked } = readListQuery(query, { by: 'created_at', order: 'desc' });
  const now = site.now();
  const [{ keys, previous, next }, days, services] = await Promise.all([
    readList(() => site.admin.searchKeys({ ...asked, tenant: name, limit: keysPerPage })),
    site.reports.days({ from: daysAgo(now, 7), to: daysAgo(now, 0), tenant: id }),
    servicesFor(site, name),
  ]);
  const isFiltered = asked.q || asked.state;
  return (
    <Page tenant={name} title={name}>
      <SuspendedNotice tenant={tenant} />
      <Traffic rows={days} now={now} />
      <div class="list-head">
        <h2>Keys</h2>
        <SearchForm label="Label, id or first characters" />
        <Chips name="state" label="State" options={keyStates} />
        <Changes>
          <a class="button" href="#issue">
            Issue a key
          </a>
        </Changes>
      </div>
      <Empty of={keys} title={isFiltered ? 'No key matches' : 'No keys yet'}>
        {isFiltered ? (
          <a href={`/tenants/${name}`}>Show every key in use</a>
        ) : (
          mayChange &&
          'Issue the first one below, put it into your program as the parameter ak, and make a call.'
        )}
      </Empty>
      <KeyTable label={`Keys of ${name}`} keys={keys} sorting={sorting} />
      <Pager previous={previous} next={next} />
      <IssueForm tenant={name} services={services} />
      {visitor.role !== null && (
        <Changes>
          <section class="panel danger">
            <h2>{tenant.suspended_at === null ? 'Suspend' : 'Resume'}</h2>
            <Suspension tenant={tenant} />
          </section>
        </Changes>
      )}
    </Page>
  );
}

function IssueForm({ tenant, services }: { tenant: string; services: readonly Service[] }) {
  return (
    <Changes>
      <section class="panel" id="issue">
        <h2>Issue a key</h2>
        <Form action={`/tenants/${tenant}/keys`} once>
          <KeyFields services={services} />
          <button type="submit">Issue key</button>
        </Form>
      </section>
    </Changes>
  );
}
