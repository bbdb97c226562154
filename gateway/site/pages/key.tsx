import { inputError } from '../../errors.js';
import type { KeyView } from '../../keys/model.js';
import { formState, get, post, postOnce, refused, type TenantCall } from '../page.js';
import { servicesFor } from '../site.js';
import { ConfirmPage } from './confirm.js';
import { Page } from './document.js';
import { Choices, Facts, Form, Moment, Notice, Scopes, State, Table } from './elements.js';
import { findKey, keyHref, keyPath, newKeyPage } from './keys.js';
import { SigningPanel } from './signed-urls.js';

const graces = [
  ['0', 'Now: the old secret stops at once'],
  ['3600', 'In 1 hour'],
  ['86400', 'In 24 hours'],
  ['604800', 'In 7 days'],
] as const;

/** One key: its facts, its rotation and its revocation. */
export const keyPages = [
  get.tenant(keyPath, (call) => keyPage(call)),
  postOnce.tenant(`${keyPath}/rotate`, rotateKey),
  post.tenant(`${keyPath}/end-grace`, async (call) => {
    const key = await findKey(call);
    await call.site.admin.endGrace(key.id, call.actor);
    return { redirect: `${keyHref(call, key)}?done=grace` };
  }),
  get.tenant(`${keyPath}/revoke`, confirmRevokePage),
  post.tenant(`${keyPath}/revoke`, async (call) => {
    const key = await findKey(call);
    await call.site.admin.revokeKey(key.id, call.actor);
    return { redirect: `${keyHref(call, key)}?done=revoked` };
  }),
];

const doneMessages: Record<string, string | undefined> = {
  grace: 'The grace has ended: only the current secret works now.',
  revoked: 'The key was revoked. It opens nothing any more, on every gateway within 5 seconds.',
};

async function rotateKey(call: TenantCall) {
  const { site, form } = call;
  const key = await findKey(call);
  const grace = form.get('grace_seconds') ?? '';
  try {
    if (!graces.some(([seconds]) => seconds === grace)) {
      throw inputError([{ field: 'grace_seconds', problem: 'must be one of the choices' }]);
    }
    const options = { grace_seconds: Number(grace) };
    const rotated = await site.admin.rotateKey(key.id, options, call.actor);
    const end = rotated.previous_expires_at;
    const note =
      grace === '0'
        ? 'It works at once, and the old secret does not any more.'
        : `It works at once. The old secret works too until ${end.slice(0, 10)} ${end.slice(11, 16)} UTC.`;
    return newKeyPage(call, { ...rotated, scopes: key.scopes }, note);
  } catch (error) {
    const state = formState(error, form, 'grace_seconds');
    return refused(state, await keyPage(call, state.problems.id));
  }
}

async function keyPage(call: TenantCall, problem?: string) {
  const key = await findKey(call);
  const { name } = call.tenant;
  const base = keyHref(call, key);
  const services = await servicesFor(call.site, name);
  const message = doneMessages[call.query.get('done') ?? ''];
  return (
    <Page tenant={name} title={key.label ?? key.id}>
      <p class="crumbs">
        <a href={`/tenants/${name}`}>Keys</a> /
      </p>
      <h2>{key.label ?? key.id}</h2>
      {message && <Notice kind="good">{message}</Notice>}
      {problem && <Notice kind="bad">This key {problem.replace('names a key that ', '')}.</Notice>}
      <KeyFacts keyView={key} />
      <Table
        label="Secrets that work"
        rows={key.secrets}
        columns={[
          { head: 'Secret', rowHead: true, cell: ({ hint }) => <code>{hint}</code> },
          { head: 'Made', cell: ({ created_at }) => <Moment at={created_at} /> },
          { head: 'Works until', cell: ({ expires_at: end }) => (end ? <Moment at={end} /> : 'current') },
        ]}
      />
      {key.secrets.length > 1 && (
        <Form action={`${base}/end-grace`} class="inline">
          <button type="submit" class="quiet-button">
            End the grace now
          </button>
          <span class="hint">Old secrets stop working at once. The current one goes on.</span>
        </Form>
      )}
      {key.state === 'active' && (
        <>
          <SigningPanel site={call.site} services={services} href={base} scopes={key.scopes} />
          <section class="panel">
            <h2>Rotate</h2>
            <p>
              Makes a new secret for this key. Usage, scopes, expiry and signed urls stay. Give yourself time
              to change it in your programs, or none if the old one has leaked.
            </p>
            <Form action={`${base}/rotate`} once>
              <Choices name="grace_seconds" label="The old secret stops" value="86400" options={graces} />
              <button type="submit">Rotate key</button>
            </Form>
          </section>
          <section class="panel danger">
            <h2>Revoke</h2>
            <p>Ends this key for good, with every secret of it and every signed url.</p>
            <a class="button danger-button" href={`${base}/revoke`}>
              Revoke key…
            </a>
          </section>
        </>
      )}
    </Page>
  );
}

function KeyFacts({ keyView: key }: { keyView: KeyView }) {
  const since = key.revoked_at && [' since ', <Moment key="since" at={key.revoked_at} />];
  return (
    <Facts
      facts={{
        Id: <code>{key.id}</code>,
        State: [<State key="state" state={key.state} />, since],
        'May call': <Scopes scopes={key.scopes} />,
        Created: <Moment at={key.created_at} />,
        Expires: key.expires_at ? <Moment at={key.expires_at} /> : 'never',
        'Last used': key.last_used_at ? <Moment at={key.last_used_at} /> : 'never',
      }}
    />
  );
}

async function confirmRevokePage(call: TenantCall) {
  const key = await findKey(call);
  const base = keyHref(call, key);
  return (
    <ConfirmPage
      tenant={call.tenant.name}
      title="Revoke key"
      heading={`Revoke “${key.label ?? key.id}”?`}
      action={`${base}/revoke`}
      button="Revoke for good"
      href={base}
    >
      <p>
        Every program that uses <code>{key.hint}</code> is refused from now on. This cannot be undone: a new
        key has to be issued instead.
      </p>
    </ConfirmPage>
  );
}
