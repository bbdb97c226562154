import { keyState, scopeAllows } from '../../keys/model.js';
import { snippets } from '../../signing/snippets.js';
import { actorOf } from '../accounts/account.js';
import {
  emptyForm,
  type FormState,
  formState,
  forTenant,
  getRoute,
  type PageAnswer,
  type PageRoute,
  postOnceRoute,
  postRoute,
  type Redirect,
} from '../page.js';
import { expiries, type SignedAddress, signAddress, whyNoPreview } from '../sign-address.js';
import type { Site } from '../site.js';
import { TenantFrame } from './document.js';
import { Choices, CopyBox, Field, Form, Moment, Notice } from './elements.js';
import { findKey, findKeyRow, type KeyCall, keyHref, keyPath } from './keys.js';

/** Signs an address with a key: the form, what comes of it, and how a program does the same. */
export const signAddressPages: PageRoute[] = [
  getRoute(forTenant, `${keyPath}/sign`, (call) => signPage(call, emptyForm)),
  postRoute(forTenant, `${keyPath}/sign`, signSubmitted),
];

type KeyRow = Awaited<ReturnType<typeof findKeyRow>>;

async function signSubmitted(call: KeyCall): Promise<PageAnswer | Redirect> {
  const { site, form } = call;
  const key = await findKeyRow(call);
  if (!maySign(call, key)) return { redirect: keyHref(call, key) };
  try {
    const signed = await signAddress(form, {
      sign: (asked) => site.admin.signUrl(key.id, asked),
      services: site.services(),
      apiUrl: site.apiUrl,
      now: site.now(),
    });
    return signPage(call, { values: form, problems: {} }, signed);
  } catch (error) {
    const answer = await signPage(call, formState(error, form, 'url'));
    return 'redirect' in answer ? answer : { ...answer, status: 400 };
  }
}

/** A dead key, and a gateway that has no master secret, sign nothing; the page of the key says so. */
function maySign({ site }: KeyCall, key: KeyRow): boolean {
  return site.signing.available && keyState(key, site.now()) === 'active';
}

async function signPage(
  call: KeyCall,
  state: FormState,
  signed?: SignedAddress,
): Promise<PageAnswer | Redirect> {
  const { site } = call;
  const key = await findKeyRow(call);
  const base = keyHref(call, key);
  if (!maySign(call, key)) return { redirect: base };
  const apiUrl = site.apiUrl.replace(/\/$/, '');
  const example = exampleFor(site, key.scopes);
  const noPreview = whyNoPreview(site.baseUrl, apiUrl);
  const shows = signed?.picture && noPreview === undefined;
  return {
    title: 'Sign an address',
    picturesOf: shows ? apiUrl : undefined,
    body: (
      <TenantFrame name={call.tenant.name}>
        <p class="crumbs">
          <a href={`/tenants/${call.tenant.name}`}>Keys</a> / <a href={base}>{key.label ?? key.id}</a> /
        </p>
        <h2>Sign an address</h2>
        {signed && <SignedUrl signed={signed} keyExpires={key.expires_at} noPreview={noPreview} />}
        <section class="panel">
          <h2>{signed ? 'Sign another' : 'For a web page'}</h2>
          <SignForm href={base} state={state} example={example} />
        </section>
        <SignSnippets apiUrl={apiUrl} address={signed?.address ?? example} keyId={key.id} />
      </TenantFrame>
    ),
  };
}

/** Shows what signs urls for a key, each time it is asked for, and replaces it. */
export const signingSecretPages: PageRoute[] = [
  // Where a reload of the page that shows it leads.
  getRoute(forTenant, `${keyPath}/signing-secret`, async (call) => ({
    redirect: keyHref(call, await findKey(call)),
  })),
  postRoute(forTenant, `${keyPath}/signing-secret`, (call) =>
    withLiveKey(call, async (id, actor) => {
      const { signing_secret } = await call.site.admin.signingSecret(id, actor);
      return signingSecretPage(
        call,
        id,
        signing_secret,
        'The signing secret',
        'The audit log notes that it was shown to you.',
      );
    }),
  ),
  getRoute(forTenant, `${keyPath}/rotate-signing`, (call) =>
    withLiveKey(call, async () => confirmRotatePage(call)),
  ),
  postOnceRoute(forTenant, `${keyPath}/rotate-signing`, (call) =>
    withLiveKey(call, async (id, actor) => {
      const { signing_secret } = await call.site.admin.rotateSigning(id, actor);
      const note =
        'Urls that were signed with the one before open nothing any more, on every gateway within 5 seconds.';
      return signingSecretPage(call, id, signing_secret, 'Your new signing secret', note);
    }),
  ),
];

/** A dead key, and a gateway that has no master secret, have none; the page of the key says so. */
async function withLiveKey(
  call: KeyCall,
  run: (id: string, actor: string) => Promise<PageAnswer>,
): Promise<PageAnswer | Redirect> {
  const key = await findKey(call);
  if (!call.site.signing.available || key.state !== 'active') return { redirect: keyHref(call, key) };
  return run(key.id, actorOf(call.visitor.user));
}

/** It answers the form itself, as what shows a key does. */
function signingSecretPage(
  call: KeyCall,
  id: string,
  secret: string,
  title: string,
  note: string,
): PageAnswer {
  const page = keyHref(call, { id });
  return {
    title,
    body: (
      <TenantFrame name={call.tenant.name}>
        <section data-replace={page}>
          <h2>{title}</h2>
          <CopyBox id="secret" label="Signing secret" text={secret} />
          <CopyBox id="kid" label="Key id, which stands in the urls" text={id} />
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

async function confirmRotatePage(call: KeyCall): Promise<PageAnswer> {
  const key = await findKey(call);
  const base = keyHref(call, key);
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

/** The form that signs an address with a key; `href` is the key's page. */
function SignForm({ href, state, example }: { href: string; state: FormState; example: string }) {
  return (
    <Form action={`${href}/sign`}>
      <Field
        name="url"
        label="Address"
        required
        wide
        state={state}
        placeholder={example}
        hint="Of a helper with its parameters, without a key: whole, or from its path on."
      />
      <Choices name="expires" label="It stops working" state={state} value="30" options={expiries} />
      <Field
        name="until"
        label="Day of your own"
        type="date"
        state={state}
        placeholder="2030-01-31"
        hint="It stops working when this day begins in UTC, 366 days from now at most."
      />
      <button type="submit">Sign address</button>
    </Form>
  );
}

interface SignedUrlProps {
  signed: SignedAddress;
  /** When the key itself expires, ms since 1970. */
  keyExpires: number | null;
  /** Why no picture is shown, where none can be. */
  noPreview: string | undefined;
}

/** A url that was just signed: to copy, as a page has it, and what it shows. */
function SignedUrl({ signed, keyExpires, noPreview }: SignedUrlProps) {
  const { url, atApi, service, picture, expires } = signed;
  return (
    <section class="panel" aria-labelledby="signed-title">
      <h2 id="signed-title">Signed url</h2>
      <CopyBox id="signed" label="The url" text={url} />
      {picture && <CopyBox id="img" label="On a web page" text={imageTag(url)} />}
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

/** Of the picture helpers that come with the gateway; it needs a picture, which the reader has to put in. */
const exampleParameters = 'url=https%3A%2F%2Fexample.com%2Fphoto.jpg';

/** An address for a key to be signed with: of a helper that gives pictures, where the key may call one. */
function exampleFor(site: Pick<Site, 'services'>, scopes: readonly string[] | null): string {
  const allowed = site.services().filter(({ id }) => scopeAllows(scopes, id));
  const { id, picture } = allowed.find((each) => each.picture) ??
    allowed[0] ?? { id: 'helper', picture: false };
  return picture ? `/${id}?${exampleParameters}` : `/${id}`;
}

/**
 * The same address signed in five languages, filled in with all but the secret. `address` is one that `signAddress` has written:
 * nothing in it ends a string.
 */
function SignSnippets({ apiUrl, address, keyId }: { apiUrl: string; address: string; keyId: string }) {
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
            <CopyBox id={id} label={file} text={code} />
            <CopyBox
              id={`${id}-call`}
              label="A program beside it"
              text={call(`${apiUrl}${address}`, keyId)}
            />
          </details>
        );
      })}
    </section>
  );
}
