import { scopeAllows } from '../../keys/scopes.js';
import { snippets } from '../../signing/snippets.js';
import type { Site } from '../site.js';
import { Copy } from './elements.js';

/** Of the picture helpers that come with the gateway; it needs a picture, which the reader has to put in. */
const exampleParameters = 'url=https%3A%2F%2Fexample.com%2Fphoto.jpg';

/** An address for a key to be signed with: of a helper that gives pictures, where the key may call one. */
export function exampleFor(site: Pick<Site, 'services'>, scopes: readonly string[] | null): string {
  const allowed = site.services().filter(({ id }) => scopeAllows(scopes, id));
  const { id, picture } = allowed.find((each) => each.picture) ??
    allowed[0] ?? { id: 'helper', picture: false };
  return picture ? `/${id}?${exampleParameters}` : `/${id}`;
}

/**
 * The same address signed in five languages, filled in with all but the secret. `address` is one that `signAddress` has written:
 * nothing in it ends a string.
 */
export function SignSnippets({ apiUrl, address, keyId }: { apiUrl: string; address: string; keyId: string }) {
  return (
    <section class="panel" id="snippets">
      <h2>Sign in your own program</h2>
      <p>
        Each file needs nothing but its language, and gives the same signature as this page. The program below
        it reads the signing secret from the environment variable <code>SIGNING_SECRET</code>: never write it
        into a file, and never into what a browser gets.
      </p>
      {snippets().map(({ language, file, code, call }, at) => {
        const id = file.replace('.', '-');
        return (
          <details key={file} class="snippet" name="language" open={at === 0}>
            <summary>{language}</summary>
            <Copy id={id} label={file} text={code} />
            <Copy id={`${id}-call`} label="A program beside it" text={call(`${apiUrl}${address}`, keyId)} />
          </details>
        );
      })}
    </section>
  );
}
