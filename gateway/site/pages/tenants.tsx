import type { LimitChanges, Unchecked } from '../../keys/inputs.js';
import type { TenantView } from '../../keys/model.js';
import { limitsSchema, tenantName } from '../../keys/schemas.js';
import { defaultWeight } from '../../keys/tenant-changes.js';
import { actorOf } from '../accounts/account.js';
import {
  emptyForm,
  type FormState,
  formState,
  forOperator,
  forTenantOperator,
  getRoute,
  type PageAnswer,
  type PageRequest,
  type PageRoute,
  postRoute,
  readList,
  type WithTenant,
} from '../page.js';
import { TenantFrame } from './document.js';
import { Empty, Field, Form, formatCount, Moment, NextPage, Notice, Table } from './elements.js';

const tenantsShown = 50;

export const tenantsPages: PageRoute[] = [
  getRoute(forOperator, '/tenants', (call) => tenantsPage(call, emptyForm)),
  postRoute(forOperator, '/tenants', async (call) => {
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
        <NextPage href={next && `/tenants?after=${encodeURIComponent(next)}`} />
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
  return limit === null ? <span class="quiet">default</span> : formatCount(limit);
}

const limitsPath = '/tenants/:tenant/limits';
const limitProperties = limitsSchema.properties;
const limitFields = [
  ['rate', 'Requests a second', '0 is no limit.'],
  ['burst', 'Burst', 'Requests that may come at once on top of that.'],
  ['monthly_quota', 'Monthly quota', 'Successful calls a calendar month, in UTC.'],
  ['in_flight', 'Tasks at once', 'In the worker pool, waiting or running.'],
] as const;

/** What a tenant may use; an empty field is the gateway's default. */
export const limitsPages: PageRoute[] = [
  getRoute(forTenantOperator, limitsPath, (call) =>
    limitsPage(call, emptyForm, call.query.get('saved') === '1'),
  ),
  postRoute(forTenantOperator, limitsPath, saveLimits),
];

type LimitsCall = PageRequest & WithTenant;

async function saveLimits(call: LimitsCall) {
  const { site, form } = call;
  const { name } = call.tenant;
  try {
    await site.admin.setLimits(name, readLimits(call), actorOf(call.visitor.user));
    return { redirect: `/tenants/${name}/limits?saved=1` };
  } catch (error) {
    return { ...(await limitsPage(call, formState(error, form, 'rate'), false)), status: 400 };
  }
}

/** An empty field goes back to the default; what is no number goes on as it is, for the administration to say so. */
function readLimits({ site, form }: LimitsCall): Unchecked<LimitChanges> {
  const names = [...limitFields.map(([field]) => field), 'weight'];
  const texts = new Map(names.map((name) => [name, form.get(name)?.trim() ?? '']));
  const given = [...texts].filter(([, text]) => text !== '');
  const empty = { rate: null, burst: null, monthly_quota: null, in_flight: null, weight: defaultWeight };
  return { ...empty, ...site.admin.inputs.limits.coerce(new Map(given)) };
}

async function limitsPage(call: LimitsCall, state: FormState, saved: boolean): Promise<PageAnswer> {
  const { name, limits, weight } = call.tenant;
  return {
    title: `Limits of ${name}`,
    body: (
      <TenantFrame name={name}>
        <h2>Limits</h2>
        {saved && <Notice kind="good">Saved. Every gateway goes by it within 5 seconds.</Notice>}
        <p class="lead">An empty field is the gateway’s default.</p>
        <Form action={`/tenants/${name}/limits`} class="narrow">
          {limitFields.map(([field, label, hint]) => (
            <Field
              key={field}
              name={field}
              label={label}
              type="number"
              state={state}
              value={limits[field] === null ? '' : String(limits[field])}
              min={limitProperties[field].minimum}
              max={limitProperties[field].maximum}
              step="1"
              placeholder="default"
              hint={hint}
            />
          ))}
          <Field
            name="weight"
            label="Weight"
            type="number"
            state={state}
            value={String(weight)}
            min={limitProperties.weight.minimum}
            max={limitProperties.weight.maximum}
            step="1"
            hint={`Its share of the workers against other tenants’ when all are busy, ${limitProperties.weight.minimum} to ${limitProperties.weight.maximum}.`}
          />
          <button type="submit">Save limits</button>
        </Form>
      </TenantFrame>
    ),
  };
}
