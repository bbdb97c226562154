import { keyState } from '../../keys/views.js';
import { tenant } from '../doors.js';
import { emptyForm, type FormState, formState, type PageAnswer, type Redirect } from '../page.js';
import { whyNoPreview } from '../preview.js';
import { get, type PageRoute, post } from '../route.js';
import { type SignedAddress, signAddress } from '../sign-address.js';
import { findKeyRow, hrefOf, type KeyCall, keyPath } from './find-key.js';
import { SignForm } from './sign-form.js';
import { exampleFor, SignSnippets } from './sign-snippets.js';
import { SignedUrl } from './signed-url.js';
import { TenantFrame } from './tenant-frame.js';

/** Signs an address with a key: the form, what comes of it, and how a program does the same. */
export const signAddressPages: PageRoute[] = [
  get(tenant, `${keyPath}/sign`, (call) => signPage(call, emptyForm)),
  post(tenant, `${keyPath}/sign`, sign),
];

type KeyRow = Awaited<ReturnType<typeof findKeyRow>>;

async function sign(call: KeyCall): Promise<PageAnswer | Redirect> {
  const { site, form } = call;
  const key = await findKeyRow(call);
  if (!maySign(call, key)) return { redirect: hrefOf(call, key) };
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
  const base = hrefOf(call, key);
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
