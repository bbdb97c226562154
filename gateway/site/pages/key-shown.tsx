import type { PageAnswer } from '../page.js';
import { Copy, Notice } from './elements.js';
import { TenantFrame } from './tenant-frame.js';

export interface ShownKey {
  tenant: string;
  id: string;
  /** The secret, this once. */
  key: string;
  apiUrl: string;
  /** A helper that the key may call. */
  service: string | undefined;
  /** What the rest of the page says of it. */
  note: string;
  /** Whether urls can be signed with it. */
  signs: boolean;
}

/**
 * The one page that holds a secret. It answers the form itself: a redirect would have to keep the secret somewhere. The
 * form's mark keeps a reload from making another key.
 */
export function keyShown({ tenant, id, key, apiUrl, service, note, signs }: ShownKey): PageAnswer {
  const page = `/tenants/${tenant}/keys/${id}`;
  return {
    title: 'Your new key',
    body: (
      <TenantFrame name={tenant}>
        <section data-replace={page}>
          <h2>Your new key</h2>
          <Notice kind="warn">
            <strong>Copy it now: it is shown this once.</strong> Only a hash of it is kept, so nobody can show
            it again.
          </Notice>
          <Copy id="key" label="API key" text={key} />
          {service && <Copy id="curl" label="Try it" text={curlLine(apiUrl, service, key)} />}
          <p>{note}</p>
          {signs && (
            <p>
              Not for the source of a web page, where everybody reads it: a page shows a picture by a{' '}
              <a href={`${page}/sign`}>signed url</a>, which opens that one picture and nothing else.
            </p>
          )}
          <p>
            <a class="button" href={page}>
              I have copied it
            </a>
          </p>
        </section>
      </TenantFrame>
    ),
  };
}

/** Harmless wherever it is run: a dry run of the helper, with the key in a header so that it stays out of access logs. */
function curlLine(apiUrl: string, service: string, key: string): string {
  const base = apiUrl.replace(/\/$/, '');
  if (service === 'text/diff-two-strings') {
    return `curl -G '${base}/${service}' -H 'Authorization: Bearer ${key}' --data-urlencode 'a=one' --data-urlencode 'b=two'`;
  }
  return `curl '${base}/${service}?dryrun=true' -H 'Authorization: Bearer ${key}'`;
}
