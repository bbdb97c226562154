import { inputError } from '../../errors.js';
import { type KeyView, viewKey, viewTenant } from '../../keys/model.js';
import { dayOf } from '../../usage/store.js';
import { formState, get, type KeyCall, post, postOnce, refused } from '../page.js';
import { type Service, servicesFor } from '../site.js';
import { ConfirmDialog, ConfirmPage } from './confirm.js';
import { Page } from './document.js';
import {
  Changes,
  Choices,
  Facts,
  Form,
  formatAgo,
  formatCount,
  formatDuration,
  Moment,
  Notice,
  Scopes,
  State,
  Table,
} from './elements.js';
import { KeyFields, newKeyPage, readKeyForm } from './keys.js';
import { LimitFields, limitsText, readLimits, SuspendedNotice } from './settings.js';
import { SigningPanel } from './signed-urls.js';
import { daysAgo, formatShare, Stats } from './traffic.js';
import { UsageChart } from './usage.js';

const graces = [
  ['0', 'Now: the old secret stops at once'],
  ['3600', 'In 1 hour'],
  ['86400', 'In 24 hours'],
  ['604800', 'In 7 days'],
] as const;

/** What can be done to a key in one step, with what it says after. */
const steps = {
  pause:
    'The key is paused: its calls are refused, on every gateway within 5 seconds. Resume it at any time.',
  resume: 'The key works again, on every gateway within 5 seconds.',
  'end-grace': 'The grace has ended: only the current secret works now.',
  revoke: 'The key was revoked. It opens nothing any more, on every gateway within 5 seconds.',
  edit: 'Saved. Every gateway goes by it within 5 seconds.',
} as const;

type Step = keyof typeof steps;
/** What is asked before it is done. */
type Asked = 'rotate' | 'pause' | 'end-grace' | 'revoke';

/** One key: its figures and facts, and all that can be done to it. */
export const keyPages = [
  get.tenant('/tenants/:tenant/keys/:key', async ({ params }) => ({ redirect: `/keys/${params.key}` })),
  get.key('/keys/:key', (call) => keyPage(call)),
  post.key('/keys/:key', editKey),
  get.key('/keys/:key/rotate', (call) => askPage(call, 'rotate')),
  postOnce.key('/keys/:key/rotate', rotateKey),
  ...(['pause', 'end-grace', 'revoke'] as const).map((step) =>
    get.key(`/keys/:key/${step}`, (call) => askPage(call, step)),
  ),
  ...(['pause', 'resume', 'end-grace', 'revoke'] as const).map((step) =>
    post.key(`/keys/:key/${step}`, (call) => takeStep(call, step)),
  ),
];

async function takeStep({ site: { admin }, key: { id }, actor }: KeyCall, step: Exclude<Step, 'edit'>) {
  if (step === 'revoke') await admin.revokeKey(id, actor);
  else if (step === 'end-grace') await admin.endGrace(id, actor);
  else await admin.editKey(id, { state: step === 'pause' ? 'paused' : 'active' }, actor);
  return { redirect: `/keys/${id}?done=${step}` };
}

async function editKey(call: KeyCall) {
  const { site, form, key, actor } = call;
  const { rate, monthly_quota, monthly_cpu_ms } = readLimits(site, form);
  const { label = null, scopes = null, expires_at = null } = readKeyForm(form);
  // The form has the day of the expiry alone: where that is the same, so is its time.
  const expiry = expires_at === dayIn(key.expires_at) ? {} : { expires_at };
  try {
    await site.admin.editKey(
      key.id,
      { label, scopes, ...expiry, rate, monthly_quota, monthly_cpu_ms },
      actor,
    );
    return { redirect: `/keys/${key.id}?done=edit` };
  } catch (error) {
    return refused(formState(error, form, 'label'), await keyPage(call));
  }
}

function dayIn(time: number | null): string | null {
  return time === null ? null : dayOf(time);
}

async function rotateKey(call: KeyCall) {
  const { site, form, key, actor } = call;
  const grace = form.get('grace_seconds') ?? '';
  if (!graces.some(([seconds]) => seconds === grace)) {
    throw inputError([{ field: 'grace_seconds', problem: 'must be one of the choices' }]);
  }
  const rotated = await site.admin.rotateKey(key.id, { grace_seconds: Number(grace) }, actor);
  const end = rotated.previous_expires_at;
  const works = key.paused_at === null ? 'It works at once' : 'It works once the key is resumed';
  const note =
    grace === '0'
      ? `${works}, and the old secret does not any more.`
      : `${works}. The old secret works too until ${end.slice(0, 10)} ${end.slice(11, 16)} UTC.`;
  return newKeyPage(call, { ...rotated, scopes: key.scopes }, note);
}

/** A key as its pages show it: with its figures of 30 days, day by day. */
async function viewOf({ site, tenant, key }: KeyCall) {
  const now = site.now();
  const span = { from: daysAgo(now, 29), to: daysAgo(now, 0) };
  const query = { ...span, tenant: tenant.name, key: key.id, by: 'day' };
  const days = await site.reports.usage(query, { durations: false });
  const sum = (field: 'calls' | 'errors' | 'cpu_ms', from = '') =>
    days.reduce((total, row) => (String(row.day) < from ? total : total + row[field]), 0);
  const month = { calls: sum('calls'), errors: sum('errors'), cpu_ms: sum('cpu_ms') };
  return { ...viewKey(key, now), days, month, weekCalls: sum('calls', daysAgo(now, 6)), now };
}

type ShownKey = Awaited<ReturnType<typeof viewOf>>;

/** What is asked before a change of this key, with how much it is in use. */
function questionOf(key: ShownKey, step: Asked) {
  const name = `“${key.label ?? key.id}”`;
  const { last_used_at: used } = key;
  const use = used
    ? `It was used ${formatAgo(Date.parse(used) - key.now)}, with ${formatCount(key.weekCalls)} calls this week.`
    : 'It was never used.';
  const action = `/keys/${key.id}/${step}`;
  const questions = {
    rotate: {
      heading: `Rotate ${name}?`,
      button: 'Rotate key',
      once: true,
      children: (
        <>
          <p>
            Makes a new secret for this key. Usage, scopes, expiry and signed urls stay. {use} Give yourself
            time to change it in your programs, or none if the old one has leaked.
          </p>
          <Choices name="grace_seconds" label="The old secret stops" value="86400" options={graces} />
        </>
      ),
    },
    pause: {
      heading: `Pause ${name}?`,
      button: 'Pause key',
      children: <p>{use} Its calls and signed urls are refused with 403 key_paused until it is resumed.</p>,
    },
    'end-grace': {
      heading: `End the grace of ${name}?`,
      button: 'End the grace now',
      children: <p>{use} Old secrets stop working at once. The current one goes on.</p>,
    },
    revoke: {
      heading: `Revoke ${name}?`,
      button: 'Revoke for good',
      children: (
        <p>
          {use} Every program that uses <code>{key.hint}</code> is refused from now on, and every signed url
          of it. This cannot be undone: a new key has to be issued instead.
        </p>
      ),
    },
  };
  return { action, ...questions[step] };
}

async function askPage(call: KeyCall, step: Asked) {
  const key = await viewOf(call);
  if (key.state === 'revoked' || key.state === 'expired') return { redirect: `/keys/${key.id}` };
  const question = questionOf(key, step);
  return (
    <ConfirmPage tenant={call.tenant.name} title={question.button} href={`/keys/${key.id}`} {...question} />
  );
}

async function keyPage(call: KeyCall) {
  const { site, tenant } = call;
  const key = await viewOf(call);
  const base = `/keys/${key.id}`;
  const services = await servicesFor(site, tenant.name);
  const done = call.query.get('done') ?? '';
  const message = Object.hasOwn(steps, done) && steps[done as Step];
  const lives = key.state === 'active' || key.state === 'paused';
  const dialog = (step: Asked, open: string, danger = false) => (
    <ConfirmDialog
      id={step}
      href={`${base}/${step}`}
      open={open}
      danger={danger}
      {...questionOf(key, step)}
    />
  );
  return (
    <Page tenant={tenant.name} title={key.label ?? key.id}>
      <p class="crumbs">
        <a href={`/tenants/${tenant.name}`}>Keys</a> /
      </p>
      <div class="list-head">
        <h2>{key.label ?? key.id}</h2>
        <State state={key.state} />
        {key.secrets.length > 1 && <State state="in_grace" />}
      </div>
      {message && <Notice kind="good">{message}</Notice>}
      <SuspendedNotice tenant={tenant} />
      <Stats
        stats={[
          [
            'Calls, 30 days',
            formatCount(key.month.calls),
            `${formatCount(key.weekCalls)} in the last 7 days`,
          ],
          ['Errors, 30 days', formatShare(key.month.errors, key.month.calls)],
          ['CPU, 30 days', formatDuration(key.month.cpu_ms)],
          ['Last used', <Moment key="used" at={key.last_used_at} none="never" />],
        ]}
      />
      {key.month.calls > 0 && (
        <UsageChart
          rows={key.days.map(({ day, calls }) => ({ day: String(day), service: 'calls', calls }))}
          days={Array.from({ length: 30 }, (_, index) => daysAgo(key.now, 29 - index))}
        />
      )}
      {lives && (
        <Changes>
          <div class="inline">
            {dialog('rotate', 'Rotate…')}
            {key.secrets.length > 1 && dialog('end-grace', 'End the grace…')}
            {key.state === 'paused' ? (
              <Form action={`${base}/resume`}>
                <button type="submit">Resume</button>
              </Form>
            ) : (
              dialog('pause', 'Pause…')
            )}
            {dialog('revoke', 'Revoke…', true)}
          </div>
        </Changes>
      )}
      <KeyFacts keyView={key} tenant={tenant.name} />
      <Table
        label="Secrets that work"
        rows={key.secrets}
        columns={[
          { head: 'Secret', rowHead: true, cell: ({ hint }) => <code>{hint}</code> },
          { head: 'Made', cell: ({ created_at }) => <Moment at={created_at} /> },
          {
            head: 'Works until',
            cell: ({ expires_at: end }) => (end ? <Moment at={end} exact /> : 'current'),
          },
        ]}
      />
      {lives && <EditForm call={call} services={services} />}
      {key.state === 'active' && (
        <SigningPanel site={site} services={services} href={base} scopes={key.scopes} />
      )}
    </Page>
  );
}

function KeyFacts({ keyView: key, tenant }: { keyView: KeyView; tenant: string }) {
  const calls = `/tenants/${tenant}/requests?key=${key.id}`;
  return (
    <Facts
      facts={{
        Id: <code>{key.id}</code>,
        'May call': <Scopes scopes={key.scopes} />,
        'Limits of its own': limitsText(key.limits) || 'none below the tenant’s',
        Created: <Moment at={key.created_at} />,
        Expires: <Moment at={key.expires_at} none="never" />,
        Paused: key.paused_at && <Moment at={key.paused_at} />,
        Revoked: key.revoked_at && <Moment at={key.revoked_at} />,
        'Look closer': (
          <>
            <a href={calls}>Its last calls</a> ·{' '}
            <a href={`/tenants/${tenant}/usage?key=${key.id}`}>Its usage</a>
          </>
        ),
      }}
    />
  );
}

function EditForm({ call, services }: { call: KeyCall; services: readonly Service[] }) {
  const { site, tenant, key } = call;
  const { in_force } = viewTenant(tenant, site.defaults);
  return (
    <Changes>
      <section class="panel">
        <h2>Edit</h2>
        <Form action={`/keys/${key.id}`}>
          <KeyFields services={services} label={key.label} scopes={key.scopes} day={dayIn(key.expires_at)} />
          <LimitFields own={key.limits} inherited={(field) => in_force[field].value} />
          <button type="submit">Save</button>
        </Form>
      </section>
    </Changes>
  );
}
