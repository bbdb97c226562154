import type { LimitChanges, Unchecked } from '../../keys/inputs.js';
import { noLimits } from '../../keys/model.js';
import { limitsSchema, tenantName } from '../../keys/schemas.js';
import { formState, get, type PageCall, post, readList, refused, type TenantCall } from '../page.js';
import { Page } from './document.js';
import { Empty, Field, Form, formatCount, Moment, Notice, Table } from './elements.js';
import { Pager } from './lists.js';

const tenantsShown = 50;
const limitsPath = '/tenants/:tenant/limits';

/** All tenants, and the limits of one. */
export const tenantsPages = [
  get.operator('/tenants', tenantsPage),
  post.operator('/tenants', async (call) => {
    const name = (call.form.get('name') ?? '').trim();
    try {
      await call.site.admin.createTenant(name, call.actor);
      return { redirect: `/tenants/${name}` };
    } catch (error) {
      return refused(formState(error, call.form, 'name'), await tenantsPage(call));
    }
  }),
  get.tenantOperator(limitsPath, async (call) => limitsPage(call)),
  post.tenantOperator(limitsPath, async (call) => {
    const { name } = call.tenant;
    try {
      await call.site.admin.setLimits(name, readLimits(call), call.actor);
      return { redirect: `/tenants/${name}/limits?saved=1` };
    } catch (error) {
      return refused(formState(error, call.form, 'rate'), limitsPage(call));
    }
  }),
];

async function tenantsPage({ site, query }: PageCall) {
  const limitText = (limit: number | null) =>
    limit === null ? <span class="quiet">default</span> : formatCount(limit);
  const { tenants, next } = await readList(() =>
    site.admin.listTenants({ after: query.get('after'), limit: tenantsShown }),
  );
  return (
    <Page title="Tenants">
      <p class="lead">A tenant is a customer or a team: it owns keys, and limits and usage are its own.</p>
      <Empty of={tenants} title="No tenants yet">
        Create the first one below. Then issue a key for it, or invite its people to do so themselves.
      </Empty>
      <Table
        label="Tenants"
        rows={tenants}
        columns={[
          { head: 'Name', rowHead: true, cell: ({ name }) => <a href={`/tenants/${name}`}>{name}</a> },
          { head: 'Requests a second', number: true, cell: ({ limits }) => limitText(limits.rate) },
          { head: 'Monthly quota', number: true, cell: ({ limits }) => limitText(limits.monthly_quota) },
          { head: 'Weight', number: true, cell: ({ weight }) => weight },
          { head: 'Created', cell: ({ created_at }) => <Moment at={created_at} /> },
        ]}
      />
      <Pager next={next} />
      <section class="panel">
        <h2>New tenant</h2>
        <Form action="/tenants" class="row">
          <Field
            name="name"
            label="Name"
            required
            maxLength={tenantName.maxLength}
            hint={`1 to ${tenantName.maxLength} of a–z, 0–9 and -, such as acme or team-7. It cannot be changed later.`}
          />
          <button type="submit">Create tenant</button>
        </Form>
      </section>
    </Page>
  );
}

const limitFields = [
  ['rate', 'Requests a second', '0 is no limit.'],
  ['burst', 'Burst', 'Requests that may come at once on top of that.'],
  ['monthly_quota', 'Monthly quota', 'Successful calls a calendar month, in UTC.'],
  ['in_flight', 'Tasks at once', 'In the worker pool, waiting or running.'],
  ['monthly_cpu_ms', 'Monthly CPU budget', 'Milliseconds that calls may cost in a calendar month, in UTC.'],
] as const;

/** An empty field goes back to the default; text that is no number is passed on and refused there. */
function readLimits({ site, form }: TenantCall): Unchecked<LimitChanges> {
  const names = [...limitFields.map(([field]) => field), 'weight'];
  const texts = new Map(names.map((name) => [name, form.get(name)?.trim() ?? '']));
  const given = [...texts].filter(([, text]) => text !== '');
  return { ...noLimits, weight: null, ...site.admin.inputs.limits.coerce(new Map(given)) };
}

/** The limits of a tenant; an empty field is the gateway's default. */
function limitsPage({ tenant: { name, limits, weight }, query }: TenantCall) {
  const bounds = (field: keyof typeof limitsSchema.properties) => {
    const { minimum: min, maximum: max } = limitsSchema.properties[field];
    return { type: 'number', step: '1', min, max } as const;
  };
  const { min, max } = bounds('weight');
  return (
    <Page tenant={name} title={`Limits of ${name}`}>
      <h2>Limits</h2>
      {query.get('saved') === '1' && (
        <Notice kind="good">Saved. Every gateway goes by it within 5 seconds.</Notice>
      )}
      <p class="lead">An empty field is the gateway’s default.</p>
      <Form action={`/tenants/${name}/limits`} class="narrow">
        {limitFields.map(([field, label, hint]) => (
          <Field
            key={field}
            {...bounds(field)}
            name={field}
            label={label}
            value={String(limits[field] ?? '')}
            placeholder="default"
            hint={hint}
          />
        ))}
        <Field
          {...bounds('weight')}
          name="weight"
          label="Weight"
          value={String(weight ?? '')}
          placeholder="default"
          hint={`Its share of the workers against other tenants’ when all are busy, ${min} to ${max}.`}
        />
        <button type="submit">Save limits</button>
      </Form>
    </Page>
  );
}
