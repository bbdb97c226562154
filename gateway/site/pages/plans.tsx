import { GatewayError } from '../../errors.js';
import { defaultWeight, noLimits } from '../../keys/model.js';
import type { PlanView } from '../../keys/plans.js';
import { tenantName } from '../../keys/schemas.js';
import { formState, get, post, refused, type UserCall } from '../page.js';
import { ConfirmDialog, ConfirmPage } from './confirm.js';
import { Page } from './document.js';
import { Changes, Empty, Field, Form, formatCount, Moment, Notice, Table } from './elements.js';
import { type LimitField, LimitFields, limitText, readLimits } from './settings.js';

/** Plans: named sets of limits, which tenants refer to. */
export const plansPages = [
  get.operator('/plans', (call) => plansPage(call)),
  post.operator('/plans', async (call) => {
    const name = (call.form.get('name') ?? '').trim();
    const page = await plansPage(call);
    const isTaken = (await call.site.admin.plans()).some((plan) => plan.name === name);
    if (isTaken) return refused({ values: call.form, problems: { name: 'is that of another plan' } }, page);
    return savePlan(call, name, page);
  }),
  get.operator('/plans/:plan', async (call) => planPage(call, await findPlan(call))),
  post.operator('/plans/:plan', async (call) => {
    const plan = await findPlan(call);
    return savePlan(call, plan.name, planPage(call, plan));
  }),
  get.operator('/plans/:plan/delete', async (call) => {
    const { name } = await findPlan(call);
    return <ConfirmPage title="Delete plan" href={`/plans/${name}`} {...deletionOf(name)} />;
  }),
  post.operator('/plans/:plan/delete', async (call) => {
    await call.site.admin.deletePlan(call.params.plan ?? '', call.actor);
    return { redirect: '/plans' };
  }),
];

async function findPlan({ site, params }: UserCall) {
  const plan = (await site.admin.plans()).find(({ name }) => name === params.plan);
  if (!plan) throw new GatewayError('not_found');
  return plan;
}

async function savePlan({ site, form, actor }: UserCall, name: string, page: ReturnType<typeof planPage>) {
  try {
    await site.admin.putPlan(name, readLimits(site, form), actor);
    return { redirect: `/plans/${name}?saved=1` };
  } catch (error) {
    return refused(formState(error, form, 'name'), page);
  }
}

/** What holds where a plan leaves a limit open. */
const inheritedOf =
  ({ site }: UserCall) =>
  (field: LimitField) =>
    field === 'weight' ? defaultWeight : site.defaults[field];

async function plansPage(call: UserCall) {
  const plans = await call.site.admin.plans();
  const inherited = inheritedOf(call);
  const shown =
    (field: LimitField) =>
    ({ limits, weight }: PlanView) =>
      limitText(field, (field === 'weight' ? weight : limits[field]) ?? inherited(field));
  return (
    <Page title="Plans">
      <p class="lead">
        A plan is a named set of limits. A tenant that has it goes by its values, except where it has own
        ones.
      </p>
      <Empty of={plans} title="No plans yet">
        <Changes>Add the first one below, then choose it in the settings of a tenant.</Changes>
      </Empty>
      <Table
        label="Plans"
        rows={plans}
        columns={[
          { head: 'Plan', rowHead: true, cell: ({ name }) => <a href={`/plans/${name}`}>{name}</a> },
          { head: 'Calls a second', number: true, priority: 2, cell: shown('rate') },
          { head: 'Calls a month', number: true, cell: shown('monthly_quota') },
          { head: 'CPU a month', number: true, priority: 2, cell: shown('monthly_cpu_ms') },
          { head: 'Weight', number: true, priority: 2, cell: shown('weight') },
          {
            head: 'Used by',
            cell: ({ name, tenants }) => (
              <a href={`/tenants?plan=${name}`}>
                {tenants === 1 ? 'one tenant' : `${formatCount(tenants)} tenants`}
              </a>
            ),
          },
        ]}
      />
      <Changes>
        <section class="panel">
          <h2>New plan</h2>
          <Form action="/plans">
            <Field
              name="name"
              label="Name"
              required
              maxLength={tenantName.maxLength}
              hint="Such as free or team."
            />
            <LimitFields own={{ ...noLimits, weight: null }} inherited={inherited} />
            <button type="submit">Add plan</button>
          </Form>
        </section>
      </Changes>
    </Page>
  );
}

function planPage(call: UserCall, plan: Awaited<ReturnType<typeof findPlan>>) {
  const { name, tenants } = plan;
  return (
    <Page title={`Plan ${name}`}>
      <p>
        <a href="/plans">All plans</a> · <a href={`/tenants?plan=${name}`}>Tenants with this plan</a>
      </p>
      {call.query.get('saved') === '1' && (
        <Notice kind="good">Saved. Every gateway goes by it within 5 seconds.</Notice>
      )}
      <p class="quiet">
        Changed <Moment at={plan.updated_at} />. A change holds for every tenant that has this plan.
      </p>
      <Form action={`/plans/${name}`}>
        <LimitFields own={{ ...plan.limits, weight: plan.weight }} inherited={inheritedOf(call)} />
        <button type="submit">Save plan</button>
      </Form>
      <Changes>
        <section class="panel danger">
          <h2>Delete</h2>
          {tenants > 0 ? (
            <p>Give the tenants that have this plan another one first, or none.</p>
          ) : (
            <ConfirmDialog
              id="delete"
              href={`/plans/${name}/delete`}
              open="Delete plan…"
              {...deletionOf(name)}
            />
          )}
        </section>
      </Changes>
    </Page>
  );
}

const deletionOf = (name: string) => ({
  heading: `Delete the plan ${name}?`,
  action: `/plans/${name}/delete`,
  button: 'Delete plan',
  children: <p>No tenant has it. This cannot be undone.</p>,
});
