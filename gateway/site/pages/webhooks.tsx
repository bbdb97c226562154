import { type Answer, get, post, postOnce, type TenantCall } from '../page.js';
import { ConfirmPage } from './confirm.js';
import { Page, ShownPage } from './document.js';
import { CopyBox, Form, Moment, Notice } from './elements.js';

const webhooksPath = '/tenants/:tenant/webhooks';

/** What a tenant's webhooks are signed with: shown each time it is asked for, and replaced. */
export const webhookPages = [
  get.tenant(webhooksPath, webhooksPage),
  // A reload of the page that shows the secret leads here.
  get.tenant(`${webhooksPath}/secret`, async (call) => ({ redirect: webhooksHref(call) })),
  post.tenant(`${webhooksPath}/secret`, withMaster(showSecret)),
  get.tenant(`${webhooksPath}/rotate`, withMaster(confirmRotatePage)),
  postOnce.tenant(`${webhooksPath}/rotate`, withMaster(rotateSecret)),
];

const webhooksHref = ({ tenant: { name } }: TenantCall) => `/tenants/${name}/webhooks`;

/** A gateway without a master secret has none to show; the page of the webhooks says so. */
function withMaster(run: (call: TenantCall) => Promise<Answer>) {
  return async (call: TenantCall): Promise<Answer> =>
    call.site.signing.available ? run(call) : { redirect: webhooksHref(call) };
}

async function webhooksPage(call: TenantCall) {
  const base = webhooksHref(call);
  const { name } = call.tenant;
  return (
    <Page tenant={name} title={`Webhooks of ${name}`}>
      <h2>Webhooks</h2>
      <p class="lead">
        A job that names a <code>webhook</code> notifies that address when it has ended. By the webhook secret
        the receiver knows that it was this gateway.
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
          This gateway sends no webhooks: with DATABASE_URL, its operator has to set HELPER_SIGNING_SECRET, to
          the same on all gateways.
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
    </Page>
  );
}

async function showSecret(call: TenantCall) {
  const shown = await call.site.admin.webhookSecret(call.tenant.name, call.actor);
  return secretPage(call, shown, 'The webhook secret', 'The audit log notes that it was shown to you.');
}

async function rotateSecret(call: TenantCall) {
  const shown = await call.site.admin.rotateWebhookSecret(call.tenant.name, call.actor);
  return secretPage(call, shown, 'Your new webhook secret', 'It signs from the next webhook on.');
}

/** The answer to the form itself, as where a key is shown. */
function secretPage(
  call: TenantCall,
  { webhook_secret, previous_until }: { webhook_secret: string; previous_until: string | null },
  title: string,
  note: string,
) {
  return (
    <ShownPage tenant={call.tenant.name} title={title} href={webhooksHref(call)} back="Back to webhooks">
      <CopyBox id="secret" label="Webhook secret" text={webhook_secret} />
      <p>{note}</p>
      {previous_until !== null && (
        <p>
          Webhooks are signed with the one before as well until <Moment at={previous_until} exact />: give
          this one to the receivers by then.
        </p>
      )}
      <p>
        Keep it where programs keep secrets, on a server alone: whoever has it can send your receivers what
        looks as if it came from here. It opens nothing of this gateway.
      </p>
    </ShownPage>
  );
}

async function confirmRotatePage(call: TenantCall) {
  const base = webhooksHref(call);
  const { name } = call.tenant;
  return (
    <ConfirmPage
      tenant={name}
      title="Replace the webhook secret"
      heading={`Replace the webhook secret of ${name}?`}
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
    </ConfirmPage>
  );
}
