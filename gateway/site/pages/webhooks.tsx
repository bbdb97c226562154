import { actorOf } from '../accounts/account.js';
import { get, type PageAnswer, post, postOnce, type Redirect, type TenantCall } from '../page.js';
import { TenantFrame } from './document.js';
import { Confirm, CopyBox, Form, Moment, Notice, Shown } from './elements.js';

const webhooksPath = '/tenants/:tenant/webhooks';

/** What a tenant's webhooks are signed with: shown each time it is asked for, and replaced. */
export const webhookPages = [
  get.tenant(webhooksPath, webhooksPage),
  // A reload of the page that shows the secret leads here.
  get.tenant(`${webhooksPath}/secret`, async (call) => ({ redirect: webhooksHref(call) })),
  post.tenant(`${webhooksPath}/secret`, (call) => withMaster(call, () => showSecret(call))),
  get.tenant(`${webhooksPath}/rotate`, (call) => withMaster(call, () => confirmRotatePage(call))),
  postOnce.tenant(`${webhooksPath}/rotate`, (call) => withMaster(call, () => rotateSecret(call))),
];

const webhooksHref = ({ tenant: { name } }: TenantCall) => `/tenants/${name}/webhooks`;

/** A gateway without a master secret has none to show; the page of the webhooks says so. */
async function withMaster(call: TenantCall, run: () => Promise<PageAnswer>): Promise<PageAnswer | Redirect> {
  return call.site.signing.available ? run() : { redirect: webhooksHref(call) };
}

async function webhooksPage(call: TenantCall): Promise<PageAnswer> {
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

async function showSecret(call: TenantCall): Promise<PageAnswer> {
  const { site, tenant, visitor } = call;
  const shown = await site.admin.webhookSecret(tenant.name, actorOf(visitor.user));
  const note = 'The audit log notes that it was shown to you.';
  return secretPage(call, { ...shown, title: 'The webhook secret', note });
}

async function rotateSecret(call: TenantCall): Promise<PageAnswer> {
  const { site, tenant, visitor } = call;
  const shown = await site.admin.rotateWebhookSecret(tenant.name, actorOf(visitor.user));
  return secretPage(call, {
    ...shown,
    title: 'Your new webhook secret',
    note: 'It signs from the next webhook on.',
  });
}

/** The answer to the form itself, as where a key is shown. */
function secretPage(
  call: TenantCall,
  secret: { title: string; webhook_secret: string; previous_until: string | null; note: string },
): PageAnswer {
  const { title, webhook_secret, previous_until, note } = secret;
  return {
    title,
    body: (
      <TenantFrame name={call.tenant.name}>
        <Shown title={title} href={webhooksHref(call)} back="Back to webhooks">
          <CopyBox id="secret" label="Webhook secret" text={webhook_secret} />
          <p>{note}</p>
          {previous_until !== null && (
            <p>
              Webhooks are signed with the one before as well until <Moment at={previous_until} />: give this
              one to the receivers by then.
            </p>
          )}
          <p>
            Keep it where programs keep secrets, on a server alone: whoever has it can send your receivers
            what looks as if it came from here. It opens nothing of this gateway.
          </p>
        </Shown>
      </TenantFrame>
    ),
  };
}

async function confirmRotatePage(call: TenantCall): Promise<PageAnswer> {
  const base = webhooksHref(call);
  const { name } = call.tenant;
  return {
    title: 'Replace the webhook secret',
    body: (
      <TenantFrame name={name}>
        <Confirm
          title={`Replace the webhook secret of ${name}?`}
          action={`${base}/rotate`}
          once
          button="Replace it"
          href={base}
        >
          <p>
            For 24 hours webhooks are signed with both, the new one and the one before, so that receivers can
            change over one by one. After that the one before signs nothing.
          </p>
          <Notice kind="warn">
            If it was replaced within the last 24 hours already, the first of the three stops signing now.
          </Notice>
        </Confirm>
      </TenantFrame>
    ),
  };
}
