import { tenantName } from '../../keys/schemas.js';
import type { TenantView } from '../../keys/views.js';
import { actorOf } from '../accounts/session.js';
import { operator } from '../doors.js';
import {
  emptyForm,
  type FormState,
  formState,
  type PageAnswer,
  type PageRequest,
  readList,
} from '../page.js';
import { get, type PageRoute, post } from '../route.js';
import { count, Empty, Moment, Next, Table } from './elements.js';
import { Field, Form } from './form.js';

const tenantsShown = 50;

export const tenantsPages: PageRoute[] = [
  get(operator, '/tenants', (call) => tenantsPage(call, emptyForm)),
  post(operator, '/tenants', async (call) => {
    const name = (call.form.get('name') ?? '').trim();
    try {
      await call.site.admin.createTenant(name, actorOf(call.visitor.user));
      return { redirect: `/tenants/${name}` };
    } catch (error) {
      const state = formState(error, call.form, 'name');
      return { ...(await tenantsPage(call, state)), status: 400 };
    }
  }),
];

async function tenantsPage({ site, query }: PageRequest, state: FormState): Promise<PageAnswer> {
  const { tenants, next } = await readList(() =>
    site.admin.listTenants({ after: query.get('after'), limit: tenantsShown }),
  );
  return {
    title: 'Tenants',
    body: (
      <>
        <h1>Tenants</h1>
        <p class="lead">A tenant is a customer or a team: it owns keys, and limits and usage are its own.</p>
        {tenants.length === 0 ? (
          <Empty title="No tenants yet">
            <p>
              Create the first one below. Then issue a key for it, or invite its people to do so themselves.
            </p>
          </Empty>
        ) : (
          <TenantTable tenants={tenants} />
        )}
        <Next href={next && `/tenants?after=${encodeURIComponent(next)}`} />
        <section class="panel">
          <h2>New tenant</h2>
          <Form action="/tenants" class="row">
            <Field
              name="name"
              label="Name"
              state={state}
              required
              maxLength={tenantName.maxLength}
              hint={`1 to ${tenantName.maxLength} of a–z, 0–9 and -, such as acme or team-7. It cannot be changed later.`}
            />
            <button type="submit">Create tenant</button>
          </Form>
        </section>
      </>
    ),
  };
}

function TenantTable({ tenants }: { tenants: TenantView[] }) {
  return (
    <Table
      label="Tenants"
      head={
        <>
          <th scope="col">Name</th>
          <th scope="col" class="number">
            Requests a second
          </th>
          <th scope="col" class="number">
            Monthly quota
          </th>
          <th scope="col" class="number">
            Weight
          </th>
          <th scope="col">Created</th>
        </>
      }
    >
      {tenants.map(({ name, limits, weight, created_at }) => (
        <tr key={name}>
          <th scope="row">
            <a href={`/tenants/${name}`}>{name}</a>
          </th>
          <td class="number">{limitText(limits.rate)}</td>
          <td class="number">{limitText(limits.monthly_quota)}</td>
          <td class="number">{weight}</td>
          <td>
            <Moment at={created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function limitText(limit: number | null) {
  return limit === null ? <span class="quiet">default</span> : count(limit);
}
