import { keyState, scopeAllows } from '../../keys/model.js';
import { snippets } from '../../signing/snippets.js';
import {
  type Answer,
  formState,
  get,
  type KeyCall,
  type PageAnswer,
  post,
  postOnce,
  refused,
} from '../page.js';
import { expiries, type SignedAddress, signAddress, whyNoPreview } from '../sign-address.js';
import { type Service, type Site, servicesFor } from '../site.js';
import { ConfirmPage } from './confirm.js';
import { Page, ShownPage } from './document.js';
import { Changes, Choices, CopyBox, Field, Form, Moment, Notice } from './elements.js';

/** Signs addresses with a key, and shows and replaces its signing secret. */
export const signedUrlPages = [
  get.key(`/keys/:key/sign`, withLiveKey(signPage)),
  post.key(`/keys/:key/sign`, withLiveKey(signSubmitted)),
  // A reload of the page that shows the secret leads here.
  get.key(`/keys/:key/signing-secret`, async ({ key }) => ({ redirect: `/keys/${key.id}` })),
  post.key(`/keys/:key/signing-secret`, withLiveKey(showSecret)),
  get.key(`/keys/:key/rotate-signing`, withLiveKey(confirmRotatePage)),
  postOnce.key(`/keys/:key/rotate-signing`, withLiveKey(rotateSecret)),
];

/** A dead key, and a gateway without a master secret, sign nothing: they lead to the page of the key, which says so. */
function withLiveKey(run: (call: KeyCall) => Answer | Promise<Answer>) {
  return async (call: KeyCall): Promise<Answer> => {
    const { signing, now } = call.site;
    const isLive = signing.available && keyState(call.key, now()) === 'active';
    return isLive ? run(call) : { redirect: `/keys/${call.key.id}` };
  };
}

async function signSubmitted(call: KeyCall): Promise<PageAnswer> {
  const { site, form, tenant, key } = call;
  const { apiUrl } = site;
  try {
    const signed = await signAddress(form, {
      sign: (asked) => site.admin.signUrl(key.id, asked),
      services: await servicesFor(site, tenant.name),
      apiUrl,
      now: site.now(),
    });
    const shows = signed.picture && whyNoPreview(site.baseUrl, apiUrl) === undefined;
    const page = await signPage(call, signed);
    return { page, form: { values: form, problems: {} }, picturesOf: shows ? apiUrl : undefined };
  } catch (error) {
    return refused(formState(error, form, 'url'), await signPage(call));
  }
}

async function signPage({ site, tenant, key }: KeyCall, signed?: SignedAddress) {
  const base = `/keys/${key.id}`;
  const example = exampleFor(await servicesFor(site, tenant.name), key.scopes);
  const noPreview = whyNoPreview(site.baseUrl, site.apiUrl);
  return (
    <Page tenant={tenant.name} title="Sign an address">
      <p class="crumbs">
        <a href={`/tenants/${tenant.name}`}>Keys</a> / <a href={base}>{key.label ?? key.id}</a> /
      </p>
      <h2>Sign an address</h2>
      {signed && <SignedUrl signed={signed} keyExpires={key.expires_at} noPreview={noPreview} />}
      <Changes>
        <section class="panel">
          <h2>{signed ? 'Sign another' : 'For a web page'}</h2>
          <SignForm href={base} example={example} />
        </section>
      </Changes>
      <SignSnippets apiUrl={site.apiUrl} address={signed?.address ?? example} keyId={key.id} />
    </Page>
  );
}

async function showSecret(call: KeyCall) {
  const shown = await call.site.admin.signingSecret(call.key.id, call.actor);
  return secretPage(call, shown, 'The signing secret', 'The audit log notes that it was shown to you.');
}

async function rotateSecret(call: KeyCall) {
  const shown = await call.site.admin.rotateSigning(call.key.id, call.actor);
  const note =
    'Urls that were signed with the one before open nothing any more, on every gateway within 5 seconds.';
  return secretPage(call, shown, 'Your new signing secret', note);
}

/** The answer to the form itself, as where a key is shown. */
function secretPage(
  { tenant }: KeyCall,
  { id, signing_secret }: { id: string; signing_secret: string },
  title: string,
  note: string,
) {
  return (
    <ShownPage tenant={tenant.name} title={title} href={`/keys/${id}`} back="Back to the key">
      <CopyBox id="secret" label="Signing secret" text={signing_secret} />
      <CopyBox id="kid" label="Key id, which stands in the urls" text={id} />
      <p>{note}</p>
      <p>
        Keep it where programs keep secrets, on a server alone: whoever has it can sign whatever this key may
        call. It opens nothing by itself, and does not lead to the key.
      </p>
    </ShownPage>
  );
}

function confirmRotatePage({ tenant, key }: KeyCall) {
  const base = `/keys/${key.id}`;
  return (
    <ConfirmPage
      tenant={tenant.name}
      title="Replace the signing secret"
      heading={`Replace the signing secret of “${key.label ?? key.id}”?`}
      action={`${base}/rotate-signing`}
      once
      button="Replace it"
      href={base}
    >
      <Notice kind="warn">
        <strong>Every url that was signed for this key stops working</strong>, on every gateway within 5
        seconds: on each page that shows one the picture is gone until the page has a new one. There is no
        grace.
      </Notice>
      <p>
        The key itself goes on, and so does what uses it by <code>ak</code>. What browsers and CDNs have kept
        of pictures they may show for a while longer.
      </p>
    </ConfirmPage>
  );
}

/** The part of a key's page that is about signed urls; the secret is not on it. */
export function SigningPanel(props: {
  site: Site;
  /** What the tenant's keys can call. */
  services: readonly Service[];
  href: string;
  scopes: readonly string[] | null;
}) {
  const { site, services, href, scopes } = props;
  return (
    <Changes>
      <section class="panel" id="signed-urls">
        <h2>Signed urls</h2>
        <p>
          For web pages, whose source everybody reads: a signed url opens one picture in place of the key,
          until it expires. What it calls counts as this key’s.
        </p>
        {site.signing.available ? (
          <>
            <SignForm href={href} example={exampleFor(services, scopes)} />
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
            This gateway cannot sign urls: with DATABASE_URL, its operator has to set HELPER_SIGNING_SECRET,
            to the same on all gateways.
          </Notice>
        )}
      </section>
    </Changes>
  );
}

/** The form that signs an address with a key; `href` is the key's page. */
function SignForm({ href, example }: { href: string; example: string }) {
  return (
    <Form action={`${href}/sign`}>
      <Field
        name="url"
        label="Address"
        required
        wide
        placeholder={example}
        hint="Of a helper with its parameters, without a key: whole, or from its path on."
      />
      <Choices name="expires" label="It stops working" value="30" options={expiries} />
      <Field
        name="until"
        label="Day of your own"
        type="date"
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
        It works until <Moment at={Math.min(expires, keyExpires ?? expires)} exact />
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

/** Only the API can say why no picture came: a script notes that none did, and the caption says so without one. */
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

/** Escaped for HTML: `&` above all, and a quote in the host, which would end the attribute. */
function imageTag(url: string): string {
  return `<img src="${url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}" alt="">`;
}

/** For the picture helpers that come with the gateway; the reader puts in a picture of their own. */
const exampleParameters = 'url=https%3A%2F%2Fexample.com%2Fphoto.jpg';

/** An address for a key to be signed with: of a helper that gives pictures, where the key may call one. */
function exampleFor(services: readonly Service[], scopes: readonly string[] | null): string {
  const allowed = services.filter(({ id }) => scopeAllows(scopes, id));
  const { id, picture } = allowed.find((each) => each.picture) ??
    allowed[0] ?? { id: 'helper', picture: false };
  return picture ? `/${id}?${exampleParameters}` : `/${id}`;
}

/** Filled in with all but the secret. `address` comes from `signAddress`: nothing in it ends a string. */
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
