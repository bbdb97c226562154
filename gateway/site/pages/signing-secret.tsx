import { actorOf } from '../accounts/session.js';
import { tenant } from '../doors.js';
import type { PageAnswer, Redirect } from '../page.js';
import { get, type PageRoute, post, postOnce } from '../route.js';
import { Copy, Notice } from './elements.js';
import { findKey, hrefOf, type KeyCall, keyPath } from './find-key.js';
import { Form } from './form.js';
import { TenantFrame } from './tenant-frame.js';

/** Shows what signs urls for a key, each time it is asked for, and replaces it. */
export const signingSecretPages: PageRoute[] = [
  // Where a reload of the page that shows it leads.
  get(tenant, `${keyPath}/signing-secret`, async (call) => ({ redirect: hrefOf(call, await findKey(call)) })),
  post(tenant, `${keyPath}/signing-secret`, (call) =>
    withLiveKey(call, async (id, actor) => {
      const { signing_secret } = await call.site.admin.signingSecret(id, actor);
      return secretShown(
        call,
        id,
        signing_secret,
        'The signing secret',
        'The audit log notes that it was shown to you.',
      );
    }),
  ),
  get(tenant, `${keyPath}/rotate-signing`, (call) => withLiveKey(call, async () => rotatePage(call))),
  postOnce(tenant, `${keyPath}/rotate-signing`, (call) =>
    withLiveKey(call, async (id, actor) => {
      const { signing_secret } = await call.site.admin.rotateSigning(id, actor);
      const note =
        'Urls that were signed with the one before open nothing any more, on every gateway within 5 seconds.';
      return secretShown(call, id, signing_secret, 'Your new signing secret', note);
    }),
  ),
];

/** A dead key, and a gateway that has no master secret, have none; the page of the key says so. */
async function withLiveKey(
  call: KeyCall,
  run: (id: string, actor: string) => Promise<PageAnswer>,
): Promise<PageAnswer | Redirect> {
  const key = await findKey(call);
  if (!call.site.signing.available || key.state !== 'active') return { redirect: hrefOf(call, key) };
  return run(key.id, actorOf(call.visitor.user));
}

/** It answers the form itself, as what shows a key does. */
function secretShown(call: KeyCall, id: string, secret: string, title: string, note: string): PageAnswer {
  const page = hrefOf(call, { id });
  return {
    title,
    body: (
      <TenantFrame name={call.tenant.name}>
        <section data-replace={page}>
          <h2>{title}</h2>
          <Copy id="secret" label="Signing secret" text={secret} />
          <Copy id="kid" label="Key id, which stands in the urls" text={id} />
          <p>{note}</p>
          <p>
            Keep it where programs keep secrets, on a server alone: whoever has it can sign whatever this key
            may call. It opens nothing by itself, and does not lead to the key.
          </p>
          <p>
            <a class="button" href={page}>
              Back to the key
            </a>
          </p>
        </section>
      </TenantFrame>
    ),
  };
}

async function rotatePage(call: KeyCall): Promise<PageAnswer> {
  const key = await findKey(call);
  const base = hrefOf(call, key);
  return {
    title: 'Replace the signing secret',
    body: (
      <TenantFrame name={call.tenant.name}>
        <section class="narrow">
          <h2>Replace the signing secret of “{key.label ?? key.id}”?</h2>
          <Notice kind="warn">
            <strong>Every url that was signed for this key stops working</strong>, on every gateway within 5
            seconds: on each page that shows one the picture is gone until the page has a new one. There is no
            grace.
          </Notice>
          <p>
            The key itself goes on, and so does what uses it by <code>ak</code>. What browsers and CDNs have
            kept of pictures they may show for a while longer.
          </p>
          <Form action={`${base}/rotate-signing`} class="inline" once>
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
