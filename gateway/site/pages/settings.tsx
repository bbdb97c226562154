import { inputError } from '../../errors.js';
import { countsOf } from '../../keys/audit-text.js';
import { noLimits, originOf, type TenantView, viewTenant } from '../../keys/model.js';
import { limitsSchema } from '../../keys/schemas.js';
import { formState, get, post, refused, type TenantCall } from '../page.js';
import type { Site } from '../site.js';
import { ConfirmDialog, ConfirmPage } from './confirm.js';
import { Page } from './document.js';
import {
  Choices,
  type Column,
  Facts,
  Field,
  Form,
  formatCount,
  formatDuration,
  Moment,
  Notice,
  Table,
} from './elements.js';
import { Bar } from './figures.js';

const path = '/tenants/:tenant/settings';

/** What a tenant may use, for its members too; its details, suspension and end are the operators'. */
export const settingsPages = [
  get.tenant(path, (call) => settingsPage(call)),
  post.tenantOperator(`${path}/limits`, (call) =>
    edit(call, 'rate', { plan: call.form.get('plan') || null, ...readLimits(call.site, call.form) }),
  ),
  post.tenantOperator(`${path}/details`, (call) => edit(call, 'name', readDetails(call))),
  get.tenantOperator(`${path}/suspend`, (call) => askPage(call, 'suspend')),
  post.tenantOperator(`${path}/suspend`, (call) => edit(call, 'name', { state: 'suspended' })),
  post.tenantOperator(`${path}/resume`, (call) => edit(call, 'name', { state: 'active' })),
  get.tenantOperator(`${path}/delete`, (call) => askPage(call, 'delete')),
  post.tenantOperator(`${path}/delete`, deleteTenant),
];

type TenantChanges = Parameters<Site['admin']['editTenant']>[1];

/** Changes the tenant; a problem of a field without a name stands at `field`. */
async function edit(call: TenantCall, field: string, changes: TenantChanges) {
  const { site, tenant, form, actor } = call;
  try {
    const { name } = await site.admin.editTenant(tenant.name, changes, actor);
    return { redirect: `/tenants/${name}/settings?saved=1` };
  } catch (error) {
    return refused(formState(error, form, field), await settingsPage(call));
  }
}

async function deleteTenant(call: TenantCall) {
  const { site, tenant, form, actor } = call;
  if (form.get('confirm')?.trim() !== tenant.name) {
    const error = inputError([{ field: 'confirm', problem: `must be ${tenant.name}` }]);
    return refused(formState(error, form, 'confirm'), await askPage(call, 'delete'));
  }
  await site.admin.deleteTenant(tenant.name, actor);
  return { redirect: '/tenants' };
}

/** What operators note of a tenant: the field, its label and a hint. */
const details = [
  ['name', 'Name', 'Addresses of its pages change with it; the old name is not found any more. Keys go on.'],
  ['external_id', 'External id', 'Its id in your own systems.'],
  ['note', 'Note', 'For operators and support alone.'],
  ['notice_url', 'Notices go to', 'A webhook for budgets, keys that expire and webhooks that fail.'],
] as const;

function readDetails({ form }: TenantCall): TenantChanges {
  return Object.fromEntries(details.map(([field]) => [field, form.get(field)?.trim() || null]));
}

export type LimitField = keyof TenantView['in_force'];

type LimitText = readonly [field: LimitField, label: string, hint: string];

/** How limits are shown, in three groups. */
const groups: readonly (readonly [title: string, fields: readonly LimitText[]])[] = [
  [
    'Speed',
    [
      ['rate', 'Calls a second', '0 is no limit.'],
      ['burst', 'Burst', 'Calls that may come at once on top of that.'],
    ],
  ],
  [
    'A month',
    [
      ['monthly_quota', 'Calls a month', 'Successful calls of a calendar month, in UTC.'],
      ['monthly_cpu_ms', 'CPU a month', 'Milliseconds that the calls of a calendar month may cost.'],
    ],
  ],
  [
    'Workers',
    [
      ['in_flight', 'Tasks at once', 'In the worker pool, waiting or running.'],
      ['weight', 'Weight', 'Share of the workers against other tenants’ when all are busy, 1 to 100.'],
    ],
  ],
];

/** A limit in words. */
export function limitText(field: LimitField, value: number | null): string {
  if (value === null || (field === 'rate' && value === 0)) return 'no limit';
  return field === 'monthly_cpu_ms' ? formatDuration(value) : formatCount(value);
}

/** Reads the fields of limits: an empty one has no value of its own; text that is no number is refused later. */
export function readLimits({ admin }: Pick<Site, 'admin'>, form: ReadonlyMap<string, string>) {
  const names = Object.keys(limitsSchema.properties);
  const texts = names.map((name) => [name, form.get(name)?.trim() ?? ''] as const);
  const given = admin.inputs.limits.coerce(new Map(texts.filter(([, text]) => text !== '')));
  return { ...noLimits, weight: null, ...given };
}

/** Those that are set, in words. */
export function limitsText(limits: Partial<Record<LimitField, number | null>>): string {
  const set = groups.flatMap(([, fields]) => fields).filter(([field]) => limits[field] != null);
  return set.map(([field, label]) => `${label}: ${limitText(field, limits[field] ?? null)}`).join(', ');
}

/** The fields of those limits that `own` has; `inherited` is what holds where one is left empty. */
export function LimitFields(props: {
  own: Partial<Record<LimitField, number | null>>;
  inherited: (field: LimitField) => number | null;
}) {
  const { own, inherited } = props;
  const shown = groups.map(([title, fields]) => [title, fields.filter(([field]) => field in own)] as const);
  return shown.map(
    ([title, fields]) =>
      fields.length > 0 && (
        <fieldset key={title}>
          <legend>{title}</legend>
          <div class="row">
            {fields.map(([field, label, hint]) => {
              const { minimum: min, maximum: max } = limitsSchema.properties[field];
              const bounds = { type: 'number', step: '1', min, max } as const;
              const value = String(own[field] ?? '');
              const placeholder = limitText(field, inherited(field));
              return <Field key={field} name={field} {...bounds} {...{ label, hint, value, placeholder }} />;
            })}
          </div>
        </fieldset>
      ),
  );
}

async function settingsPage(call: TenantCall) {
  const { site, tenant, query, visitor, mayChange } = call;
  const { name } = tenant;
  const view = viewTenant(tenant, site.defaults);
  const isStaff = visitor.role !== null;
  const [use, plans, contents] = await Promise.all([
    site.admin.limitUse(view),
    isStaff ? site.admin.plans() : [],
    isStaff ? site.admin.contents(name) : {},
  ]);
  const used: Partial<Record<LimitField, number | null>> = {
    monthly_quota: use.calls,
    monthly_cpu_ms: use.cpu_ms,
  };
  const { in_force: inForce } = view;
  const sources = { tenant: 'own value', plan: `plan ${tenant.plan?.name}`, gateway: 'gateway’s default' };
  const usedColumn: Column<LimitText> = {
    head: 'Used this month',
    cell: ([field]) => {
      const format = field === 'monthly_cpu_ms' ? formatDuration : formatCount;
      const count = used[field] ?? null;
      if (count === null) return 'not counted';
      return <Bar used={count} limit={inForce[field].value} format={format} />;
    },
  };
  return (
    <Page tenant={name} title={`Settings of ${name}`}>
      <h2>Limits</h2>
      {query.get('saved') === '1' && (
        <Notice kind="good">Saved. Every gateway goes by it within 5 seconds.</Notice>
      )}
      {groups.map(([title, fields]) => (
        <section key={title}>
          <h3>{title}</h3>
          <Table
            label={`Limits: ${title}`}
            rows={fields}
            columns={[
              {
                head: 'Limit',
                rowHead: true,
                cell: ([, label, hint]) => (
                  <>
                    {label} <small class="under">{hint}</small>
                  </>
                ),
              },
              { head: 'Value', cell: ([field]) => limitText(field, inForce[field].value) },
              { head: 'From', priority: 2, cell: ([field]) => sources[inForce[field].from] },
              ...(fields.some(([field]) => field in used) ? [usedColumn] : []),
            ]}
          />
        </section>
      ))}
      {isStaff && (
        <>
          <h2>Details</h2>
          <Facts
            facts={{
              Id: <code>{tenant.id}</code>,
              Created: <Moment at={tenant.created_at} />,
              Suspended: tenant.suspended_at !== null && <Moment at={tenant.suspended_at} />,
              Plan: tenant.plan?.name,
              'External id': tenant.external_id,
              Note: tenant.note,
              'Notices go to': originOf(tenant.notice_url),
            }}
          />
        </>
      )}
      {isStaff && mayChange && (
        <Administration call={call} plans={plans.map((plan) => plan.name)} contents={contents} />
      )}
    </Page>
  );
}

function Administration(props: { call: TenantCall; plans: readonly string[]; contents: Contents }) {
  const { plans, contents } = props;
  const { site, tenant } = props.call;
  const base = `/tenants/${tenant.name}/settings`;
  const options = [['', 'None'], ...plans.map((name) => [name, name] as const)] as const;
  const { in_force } = viewTenant({ ...tenant, limits: noLimits, weight: null }, site.defaults);
  return (
    <>
      <section class="panel">
        <h2>Change limits</h2>
        <p>
          The tenant’s own values win over its plan’s, and the plan’s over the gateway’s. An empty field is
          what holds without a value of its own.
        </p>
        <Form action={`${base}/limits`}>
          {plans.length > 0 && (
            <Choices name="plan" label="Plan" value={tenant.plan?.name ?? ''} options={options} />
          )}
          <LimitFields
            own={{ ...tenant.limits, weight: tenant.weight }}
            inherited={(field) => in_force[field].value}
          />
          <button type="submit">Save limits</button>
        </Form>
      </section>
      <section class="panel">
        <h2>Change details</h2>
        <Form action={`${base}/details`}>
          {details.map(([name, label, hint]) => (
            <Field
              key={name}
              {...{ name, label, hint }}
              value={tenant[name] ?? ''}
              required={name === 'name'}
            />
          ))}
          <button type="submit">Save details</button>
        </Form>
      </section>
      <section class="panel danger">
        <h2>{tenant.suspended_at === null ? 'Suspend or delete' : 'Resume or delete'}</h2>
        <div class="inline">
          <Suspension tenant={tenant} />
          <ConfirmDialog
            id="delete"
            href={`${base}/delete`}
            open="Delete…"
            {...questionOf(tenant.name, 'delete', contents)}
          />
        </div>
      </section>
    </>
  );
}

export function SuspendedNotice({ tenant }: Pick<TenantCall, 'tenant'>) {
  return tenant.suspended_at === null ? null : (
    <Notice kind="bad">
      This tenant is suspended: every call of its keys is refused with 403 tenant_suspended.
    </Notice>
  );
}

/** Suspends a tenant or resumes it. */
export function Suspension({ tenant: { name, suspended_at } }: Pick<TenantCall, 'tenant'>) {
  const base = `/tenants/${name}/settings`;
  if (suspended_at === null) {
    return (
      <ConfirmDialog id="suspend" href={`${base}/suspend`} open="Suspend…" {...questionOf(name, 'suspend')} />
    );
  }
  return (
    <Form action={`${base}/resume`}>
      <button type="submit">Resume</button>
    </Form>
  );
}

/** How many things of each kind a tenant has. */
type Contents = Parameters<typeof countsOf>[0];

function questionOf(name: string, step: 'suspend' | 'delete', contents: Contents = {}) {
  const questions = {
    suspend: {
      heading: `Suspend ${name}?`,
      button: 'Suspend tenant',
      children: (
        <p>
          Every call of its keys, every signed url and every read of a job is refused with 403
          tenant_suspended, on every gateway within 5 seconds. Its jobs stop where they are. Members still
          sign in and read. Nothing is lost: resume it at any time.
        </p>
      ),
    },
    delete: {
      heading: `Delete ${name}?`,
      button: 'Delete for good',
      children: (
        <>
          <p>
            {countsOf(contents)}: all of it is gone, and its keys open nothing any more. This cannot be
            undone. Its usage and audit log stay for their time.
          </p>
          <Field name="confirm" label="Type the tenant’s name" required hint={`It is ${name}.`} />
        </>
      ),
    },
  };
  return { action: `/tenants/${name}/settings/${step}`, ...questions[step] };
}

async function askPage({ site, tenant: { name } }: TenantCall, step: 'suspend' | 'delete') {
  const question = questionOf(name, step, await site.admin.contents(name));
  return (
    <ConfirmPage tenant={name} title={question.button} href={`/tenants/${name}/settings`} {...question} />
  );
}
