import type { LimitChanges, Unjudged } from '../../keys/inputs.js';
import { limitsSchema } from '../../keys/schemas.js';
import { defaultWeight } from '../../keys/tenant-changes.js';
import { actorOf } from '../accounts/session.js';
import { type OfTenant, operatorOfTenant } from '../doors.js';
import { emptyForm, type FormState, formState, type PageAnswer, type PageRequest } from '../page.js';
import { get, type PageRoute, post } from '../route.js';
import { Notice } from './elements.js';
import { Field, Form } from './form.js';
import { TenantFrame } from './tenant-frame.js';

const path = '/tenants/:tenant/limits';
const bounds = limitsSchema.properties;
const fields = [
  ['rate', 'Requests a second', '0 is no limit.'],
  ['burst', 'Burst', 'Requests that may come at once on top of that.'],
  ['monthly_quota', 'Monthly quota', 'Successful calls a calendar month, in UTC.'],
  ['in_flight', 'Tasks at once', 'In the worker pool, waiting or running.'],
] as const;

/** What a tenant may use; an empty field is the gateway's default. */
export const limitsPages: PageRoute[] = [
  get(operatorOfTenant, path, (call) => limitsPage(call, emptyForm, call.query.get('saved') === '1')),
  post(operatorOfTenant, path, save),
];

type LimitsCall = PageRequest & OfTenant;

async function save(call: LimitsCall) {
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
function readLimits({ site, form }: LimitsCall): Unjudged<LimitChanges> {
  const names = [...fields.map(([field]) => field), 'weight'];
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
          {fields.map(([field, label, hint]) => (
            <Field
              key={field}
              name={field}
              label={label}
              type="number"
              state={state}
              value={limits[field] === null ? '' : String(limits[field])}
              min={bounds[field].minimum}
              max={bounds[field].maximum}
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
            min={bounds.weight.minimum}
            max={bounds.weight.maximum}
            step="1"
            hint={`Its share of the workers against other tenants’ when all are busy, ${bounds.weight.minimum} to ${bounds.weight.maximum}.`}
          />
          <button type="submit">Save limits</button>
        </Form>
      </TenantFrame>
    ),
  };
}
