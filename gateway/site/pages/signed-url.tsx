import type { SignedAddress } from '../sign-address.js';
import { Copy, Moment } from './elements.js';

interface SignedUrlProps {
  signed: SignedAddress;
  /** When the key itself expires, ms since 1970. */
  keyExpires: number | null;
  /** Why no picture is shown, where none can be. */
  noPreview: string | undefined;
}

/** A url that was just signed: to copy, as a page has it, and what it shows. */
export function SignedUrl({ signed, keyExpires, noPreview }: SignedUrlProps) {
  const { url, atApi, service, picture, expires } = signed;
  return (
    <section class="panel" aria-labelledby="signed-title">
      <h2 id="signed-title">Signed url</h2>
      <Copy id="signed" label="The url" text={url} />
      {picture && <Copy id="img" label="On a web page" text={imageTag(url)} />}
      <p>
        It works until <Moment at={Math.min(expires, keyExpires ?? expires)} />
        {keyExpires !== null && keyExpires < expires && ', when this key expires'}, or until this key is
        revoked or its signing secret replaced. Everybody who has it may call it, and each call counts as this
        key’s.
      </p>
      {picture ? (
        <Preview url={atApi} why={noPreview} />
      ) : (
        <p>
          {service.picture ? 'It is a dry run, which' : <code>{service.id}</code>} answers with JSON, which no
          page can show as a picture.{' '}
          <a href={atApi} target="_blank" rel="noreferrer">
            Open it
          </a>
        </p>
      )}
    </section>
  );
}

/** What comes in place of the picture only the API says; a script notes that none came, and the caption says it without one. */
function Preview({ url, why }: { url: string; why: string | undefined }) {
  if (why !== undefined) return <p class="hint">No preview: {why}</p>;
  return (
    <figure class="preview">
      <img src={url} alt="Preview of the signed url" data-preview="preview-problem" />
      <p class="problem" id="preview-problem" role="status" hidden>
        No picture came. Open the url to read what is wrong; if nothing opens either, this browser does not
        reach the API.
      </p>
      <figcaption>
        The preview is a call like any other. Nothing to see?{' '}
        <a href={url} target="_blank" rel="noreferrer">
          Open the url
        </a>{' '}
        to read why.
      </figcaption>
    </figure>
  );
}

/** As HTML wants it written: `&` most of all, and what a host could hold that ends the attribute. */
function imageTag(url: string): string {
  return `<img src="${url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}" alt="">`;
}
