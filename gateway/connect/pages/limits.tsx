import { LIMIT_BOUNDS } from '../../keys/checks.js';
import type { LimitChanges } from '../../keys/tenant-changes.js';
import {
  actorOf,
  emptyForm,
  type FormState,
  formState,
  type PageAnswer,
  type PageCall,
  type PageRoute,
  tenantOf,
} from '../page.js';
import { Field, Form } from './form.js';
import { Notice } from './parts.js';
import { TenantFrame } from './tenant-frame.js';

const path = '/tenants/:tenant/limits';
const fields = [
  ['rate', 'Requests a second', '0 is no limit.'],
  ['burst', 'Burst', 'Requests that may come at once on top of that.'],
  ['monthly_quota', 'Monthly quota', 'Successful calls a calendar month, in UTC.'],
  ['in_flight', 'Tasks at once', 'In the worker pool, waiting or running.'],
] as const;

/** What a tenant may use; an empty field is the gateway's default. */
export const limitsPages: PageRoute[] = [
  {
    method: 'GET',
    path,
    access: 'operator',
    run: (call) => limitsPage(call, emptyForm, call.query.get('saved') === '1'),
  },
  { method: 'POST', path, access: 'operator', run: save },
];

async function save(call: PageCall) {
  const { site, form } = call;
  const { name } = tenantOf(call);
  const changes: LimitChanges = {};
  for (const [field] of fields) changes[field] = readNumber(form.get(field));
  changes.weight = readNumber(form.get('weight'));
  try {
    await site.admin.setLimits(name, changes, actorOf(call));
    return { redirect: `/tenants/${name}/limits?saved=1` };
  } catch (error) {
    return { ...(await limitsPage(call, formState(error, form, 'rate'), false)), status: 400 };
  }
}

/** What is no number goes on as it is, for the store to say so. */
function readNumber(text: string | undefined): number | null {
  const trimmed = text?.trim();
  if (!trimmed) return null;
  return /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : (trimmed as unknown as number);
}

async function limitsPage(call: PageCall, state: FormState, saved: boolean): Promise<PageAnswer> {
  const { name, limits, weight } = tenantOf(call);
  return {
    title: `Limits of ${name}`,
    body: (
      <TenantFrame name={name}>
        <h2>Limits</h2>
        {saved && <Notice kind="good">Saved. Every gateway goes by it within 5 seconds.</Notice>}
        <p class="lead">An empty field is the gateway’s default.</p>
        <Form action={`/tenants/${name}/limits`} class="narrow">
          {fields.map(([field, label, hint]) => (
            <Field
              key={field}
              name={field}
              label={label}
              type="number"
              state={state}
              value={limits[field] === null ? '' : String(limits[field])}
              min={LIMIT_BOUNDS[field].min}
              max={LIMIT_BOUNDS[field].max}
              step={LIMIT_BOUNDS[field].integer ? '1' : 'any'}
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
            min={1}
            max={100}
            step="1"
            hint="Its share of the workers against other tenants’ when all are busy, 1 to 100."
          />
          <button type="submit">Save limits</button>
        </Form>
      </TenantFrame>
    ),
  };
}
