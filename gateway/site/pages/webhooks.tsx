import { actorOf } from '../accounts/session.js';
import { type OfTenant, tenant } from '../doors.js';
import type { PageAnswer, PageRequest, Redirect } from '../page.js';
import { get, type PageRoute, post, postOnce } from '../route.js';
import { Copy, Moment, Notice } from './elements.js';
import { Form } from './form.js';
import { TenantFrame } from './tenant-frame.js';

const path = '/tenants/:tenant/webhooks';

/** What a tenant's webhooks are signed with: shown each time it is asked for, and replaced. */
export const webhookPages: PageRoute[] = [
  get(tenant, path, webhooksPage),
  // Where a reload of the page that shows it leads.
  get(tenant, `${path}/secret`, async (call) => ({ redirect: hrefOf(call) })),
  post(tenant, `${path}/secret`, (call) => withMaster(call, () => secretPage(call))),
  get(tenant, `${path}/rotate`, (call) => withMaster(call, () => rotatePage(call))),
  postOnce(tenant, `${path}/rotate`, (call) => withMaster(call, () => rotatedPage(call))),
];

type WebhookCall = PageRequest & OfTenant;

const hrefOf = ({ tenant: { name } }: WebhookCall) => `/tenants/${name}/webhooks`;

/** A gateway without a master secret has none to show; the page of the webhooks says so. */
async function withMaster(call: WebhookCall, run: () => Promise<PageAnswer>): Promise<PageAnswer | Redirect> {
  return call.site.signing.available ? run() : { redirect: hrefOf(call) };
}

async function webhooksPage(call: WebhookCall): Promise<PageAnswer> {
  const base = hrefOf(call);
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

async function secretPage(call: WebhookCall): Promise<PageAnswer> {
  const { webhook_secret, previous_until } = await call.site.admin.webhookSecret(
    call.tenant.name,
    actorOf(call.visitor.user),
  );
  return secretShown(call, {
    title: 'The webhook secret',
    secret: webhook_secret,
    until: previous_until,
    note: 'The audit log notes that it was shown to you.',
  });
}

async function rotatedPage(call: WebhookCall): Promise<PageAnswer> {
  const { webhook_secret, previous_until } = await call.site.admin.rotateWebhookSecret(
    call.tenant.name,
    actorOf(call.visitor.user),
  );
  return secretShown(call, {
    title: 'Your new webhook secret',
    secret: webhook_secret,
    until: previous_until,
    note: 'It signs from the next webhook on.',
  });
}

/** It answers the form itself, as what shows a key does. */
function secretShown(
  call: WebhookCall,
  { title, secret, until, note }: { title: string; secret: string; until: string | null; note: string },
): PageAnswer {
  const page = hrefOf(call);
  return {
    title,
    body: (
      <TenantFrame name={call.tenant.name}>
        <section data-replace={page}>
          <h2>{title}</h2>
          <Copy id="secret" label="Webhook secret" text={secret} />
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

async function rotatePage(call: WebhookCall): Promise<PageAnswer> {
  const base = hrefOf(call);
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
