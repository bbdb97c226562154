import { emptyForm } from '../page.js';
import type { Site } from '../site.js';
import { Notice } from './elements.js';
import { Form } from './form.js';
import { SignForm } from './sign-form.js';
import { exampleFor } from './sign-snippets.js';

/** The part of a key's page that is about signed urls; the secret is not on it. */
export function SigningPanel({
  site,
  href,
  scopes,
}: {
  site: Site;
  href: string;
  scopes: readonly string[] | null;
}) {
  return (
    <section class="panel" id="signed-urls">
      <h2>Signed urls</h2>
      <p>
        For web pages, whose source everybody reads: a signed url opens one picture in place of the key, until
        it expires. What it calls counts as this key’s.
      </p>
      {site.signing.available ? (
        <>
          <SignForm href={href} state={emptyForm} example={exampleFor(site, scopes)} />
          <h3>In your own program</h3>
          <p>
            With the signing secret a program signs by itself:{' '}
            <a href={`${href}/sign#snippets`}>ten lines of Node.js, Python, PHP, Go or Ruby</a>. Whoever has
            the secret can sign whatever this key may call.
          </p>
          <Form action={`${href}/signing-secret`} class="inline">
            <button type="submit" class="quiet-button">
              Show signing secret
            </button>
            <a class="button quiet-button" href={`${href}/rotate-signing`}>
              Replace it…
            </a>
          </Form>
        </>
      ) : (
        <Notice kind="warn">
          This gateway cannot sign urls: with DATABASE_URL, its operator has to set HELPER_SIGNING_SECRET, to
          the same on all gateways.
        </Notice>
      )}
    </section>
  );
}
