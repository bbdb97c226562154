import { actorOf } from '../accounts/account.js';
import {
  forTenant,
  getRoute,
  type PageAnswer,
  type PageRequest,
  type PageRoute,
  postOnceRoute,
  postRoute,
  type Redirect,
  type WithTenant,
} from '../page.js';
import { TenantFrame } from './document.js';
import { CopyBox, Form, Moment, Notice } from './elements.js';

const webhooksPath = '/tenants/:tenant/webhooks';

/** What a tenant's webhooks are signed with: shown each time it is asked for, and replaced. */
export const webhookPages: PageRoute[] = [
  getRoute(forTenant, webhooksPath, webhooksPage),
  // Where a reload of the page that shows it leads.
  getRoute(forTenant, `${webhooksPath}/secret`, async (call) => ({ redirect: webhooksHref(call) })),
  postRoute(forTenant, `${webhooksPath}/secret`, (call) => withMaster(call, () => showSecret(call))),
  getRoute(forTenant, `${webhooksPath}/rotate`, (call) => withMaster(call, () => confirmRotatePage(call))),
  postOnceRoute(forTenant, `${webhooksPath}/rotate`, (call) => withMaster(call, () => rotateSecret(call))),
];

type WebhookCall = PageRequest & WithTenant;

const webhooksHref = ({ tenant: { name } }: WebhookCall) => `/tenants/${name}/webhooks`;

/** A gateway without a master secret has none to show; the page of the webhooks says so. */
async function withMaster(call: WebhookCall, run: () => Promise<PageAnswer>): Promise<PageAnswer | Redirect> {
  return call.site.signing.available ? run() : { redirect: webhooksHref(call) };
}

async function webhooksPage(call: WebhookCall): Promise<PageAnswer> {
  const base = webhooksHref(call);
  const { name } = call.tenant;
  return {
    title: `Webhooks of ${name}`,
    body: (
      <TenantFrame name={name}>
        <h2>Webhooks</h2>
        <p class="lead">
          A job that names a <code>webhook</code> tells that address when it has ended. By the webhook secret
          the receiver knows that it was this gateway who told it.
        </p>
        {call.site.signing.available ? (
          <Form action={`${base}/secret`} class="inline">
            <button type="submit">Show webhook secret</button>
            <a class="button quiet-button" href={`${base}/rotate`}>
              Replace it…
            </a>
          </Form>
        ) : (
          <Notice kind="warn">
            This gateway sends no webhooks: with DATABASE_URL, its operator has to set HELPER_SIGNING_SECRET,
            to the same on all gateways.
          </Notice>
        )}
        <h3>In the receiver</h3>
        <p>
          Webhooks are signed as <a href="https://www.standardwebhooks.com">Standard Webhooks</a> has it:{' '}
          <code>webhook-signature</code> is an HMAC-SHA256 over <code>webhook-id</code>,{' '}
          <code>webhook-timestamp</code> and the body. Its libraries for many languages check it in a line. A
          webhook may come twice, with the same <code>webhook-id</code>; what is not answered with 2xx is sent
          again for a day.
        </p>
      </TenantFrame>
    ),
  };
}

async function showSecret(call: WebhookCall): Promise<PageAnswer> {
  const { webhook_secret, previous_until } = await call.site.admin.webhookSecret(
    call.tenant.name,
    actorOf(call.visitor.user),
  );
  return webhookSecretPage(call, {
    title: 'The webhook secret',
    secret: webhook_secret,
    until: previous_until,
    note: 'The audit log notes that it was shown to you.',
  });
}

async function rotateSecret(call: WebhookCall): Promise<PageAnswer> {
  const { webhook_secret, previous_until } = await call.site.admin.rotateWebhookSecret(
    call.tenant.name,
    actorOf(call.visitor.user),
  );
  return webhookSecretPage(call, {
    title: 'Your new webhook secret',
    secret: webhook_secret,
    until: previous_until,
    note: 'It signs from the next webhook on.',
  });
}

/** It answers the form itself, as what shows a key does. */
function webhookSecretPage(
  call: WebhookCall,
  { title, secret, until, note }: { title: string; secret: string; until: string | null; note: string },
): PageAnswer {
  const page = webhooksHref(call);
  return {
    title,
    body: (
      <TenantFrame name={call.tenant.name}>
        <section data-replace={page}>
          <h2>{title}</h2>
          <CopyBox id="secret" label="Webhook secret" text={secret} />
          <p>{note}</p>
          {until !== null && (
            <p>
              Webhooks are signed with the one before as well until <Moment at={until} />: give this one to
              the receivers by then.
            </p>
          )}
          <p>
            Keep it where programs keep secrets, on a server alone: whoever has it can send your receivers
            what looks as if it came from here. It opens nothing of this gateway.
          </p>
          <p>
            <a class="button" href={page}>
              Back to webhooks
            </a>
          </p>
        </section>
      </TenantFrame>
    ),
  };
}

async function confirmRotatePage(call: WebhookCall): Promise<PageAnswer> {
  const base = webhooksHref(call);
  return {
    title: 'Replace the webhook secret',
    body: (
      <TenantFrame name={call.tenant.name}>
        <section class="narrow">
          <h2>Replace the webhook secret of {call.tenant.name}?</h2>
          <p>
            For 24 hours webhooks are signed with both, the new one and the one before, so that receivers can
            change over one by one. After that the one before signs nothing.
          </p>
          <Notice kind="warn">
            If it was replaced within the last 24 hours already, the first of the three stops signing now.
          </Notice>
          <Form action={`${base}/rotate`} class="inline" once>
            <button type="submit" class="danger-button">
              Replace it
            </button>
            <a class="button quiet-button" href={base}>
              Keep it
            </a>
          </Form>
        </section>
      </TenantFrame>
    ),
  };
}
