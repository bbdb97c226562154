import type { ComponentChildren, VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { render } from 'preact-render-to-string';
import type { ErrorCode, GatewayError } from '../../errors.js';
import { Icon, PageShell } from '../../http/page-shell.js';
import { assetPath } from '../assets.js';
import type { PageAnswer } from '../page.js';
import { Form, type View, ViewContext } from './elements.js';

/** A page as HTML. Preact escapes every value unless a page asks for the opposite, which none does. */
export function renderPage(view: View, page: VNode): string {
  return `<!doctype html>${render(<ViewContext.Provider value={view}>{page}</ViewContext.Provider>)}`;
}

export interface PageProps {
  title: string;
  /** As the title, where the page is of no tenant. */
  heading?: string | null;
  /** The tenant's name, which then stands above with the ways to the tenant's other pages. */
  tenant?: string | undefined;
  /** For forms and short texts. */
  narrow?: boolean;
  children: ComponentChildren;
}

/** A whole page. */
export function Page({ title, heading = title, tenant, narrow, children }: PageProps) {
  const head = (
    <>
      <meta name="robots" content="noindex" />
      <link rel="stylesheet" href={assetPath('site.css')} />
      <link rel="stylesheet" href={assetPath('lists.css')} />
      <script src={assetPath('site.js')} defer />
    </>
  );
  const body = (
    <>
      {tenant ? <TenantHead name={tenant} /> : heading && <h1>{heading}</h1>}
      {children}
    </>
  );
  return (
    <PageShell title={title} path={assetPath} head={head} navigation={<Navigation />}>
      {narrow ? <section class="narrow">{body}</section> : body}
    </PageShell>
  );
}

/** Shows a secret once, in the answer to a form; the script replaces the address by `href` for a reload. */
export function ShownPage({ href, back, ...page }: PageProps & { href: string; back: string }) {
  return (
    <Page {...page} heading={null}>
      <section data-replace={href}>
        <h2>{page.heading ?? page.title}</h2>
        {page.children}
        <p>
          <a class="button" href={href}>
            {back}
          </a>
        </p>
      </section>
    </Page>
  );
}

/** What the staff sees of the whole gateway, by its path; the third is a page that belongs there too. */
const staffLinks: readonly (readonly [href: string, text: string, also?: string])[] = [
  ['/overview', 'Overview'],
  ['/tenants', 'Tenants', '/plans'],
  ['/keys', 'Keys'],
  ['/usage', 'Usage'],
  ['/notices', 'Notices'],
  ['/audit', 'Audit'],
  ['/people', 'People', '/tokens'],
];

function Navigation() {
  const { visitor } = useContext(ViewContext);
  if (!visitor) return null;
  const ofTenants = visitor.tenants.map(({ name }) => [`/tenants/${name}`, name, undefined] as const);
  const links = visitor.role ? staffLinks : ofTenants;
  return (
    <>
      <nav aria-label="Site">
        {links.map(([href, text, also = href]) => (
          <NavLink key={href} href={href} within={[href, also]}>
            {text}
          </NavLink>
        ))}
      </nav>
      <Form action="/search" class="search" role="search" own>
        <Icon name="search" />
        <input
          type="search"
          name="q"
          aria-label={searchLabel(visitor.role !== null)}
          placeholder="Search"
          required
        />
      </Form>
      <div class="who">
        <NavLink href="/account">{visitor.user.email}</NavLink>
        <Form action="/sign-out" own>
          <button type="submit" class="link">
            Sign out
          </button>
        </Form>
      </div>
    </>
  );
}

/** The form is a POST: a whole key may be pasted into it, which must not stay in an address. */
function searchLabel(everything: boolean): string {
  return everything ? 'Search tenants, keys, people and request ids' : 'Search keys and request ids';
}

/** A link of the navigation, marked on its page and on those below `within`. */
function NavLink(props: { href: string; within?: readonly string[]; children: ComponentChildren }) {
  const { path } = useContext(ViewContext);
  const { href, within = [href] } = props;
  const here = path === href || within.some((each) => `${path}/`.startsWith(`${each}/`));
  return (
    <a href={href} aria-current={here ? 'page' : undefined}>
      {props.children}
    </a>
  );
}

function TenantHead({ name }: { name: string }) {
  const { visitor } = useContext(ViewContext);
  const base = `/tenants/${name}`;
  const tabs = [
    'Recipes',
    'Usage',
    'Requests',
    'Jobs',
    'Webhooks',
    'Notices',
    'Settings',
    ...(visitor?.role ? ['Members', 'Audit'] : []),
  ];
  return (
    <>
      {visitor?.role && (
        <p class="crumbs">
          <a href="/tenants">Tenants</a> /
        </p>
      )}
      <h1>{name}</h1>
      <nav class="tabs" aria-label={`Tenant ${name}`}>
        <NavLink href={base} within={[`${base}/keys`]}>
          Overview
        </NavLink>
        {tabs.map((text) => (
          <NavLink key={text} href={`${base}/${text.toLowerCase()}`}>
            {text}
          </NavLink>
        ))}
      </nav>
    </>
  );
}

const errorTitles: Partial<Record<number, string>> = {
  401: 'Please sign in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Not possible as things are',
  429: 'Too many tries',
  502: 'The identity provider did not answer',
  503: 'Not available just now',
};

/** Where the table's message speaks to a program and not to somebody at this page. */
const errorMessages: Partial<Record<ErrorCode, string>> = {
  internal: 'This is a fault of the site, not of what you did.',
  keys_unavailable:
    'The database does not answer. Keys in use go on working meanwhile; try again in a moment.',
};

/** What went wrong, as a page that leads on. */
export function errorPage(error: GatewayError, requestId: string): PageAnswer {
  const usual = errorTitles[error.status] ?? (error.status < 500 ? 'That did not work' : 'Something broke');
  const title = error.code === 'exists' ? 'Sent already' : usual;
  // After a failure of the provider, signing in by password still works.
  const leadsToSignIn = error.status === 401 || error.code === 'upstream_failed';
  const [href, text] = leadsToSignIn ? ['/sign-in', 'Sign in'] : ['/', 'Go to the start'];
  return {
    status: error.status,
    page: (
      <Page title={title} narrow>
        <p>{errorMessages[error.code] ?? error.message}</p>
        {error.details && (
          <ul>
            {error.details.map(({ field, problem }) => (
              <li key={field}>{`${field} ${problem}`}</li>
            ))}
          </ul>
        )}
        <p>
          <a class="button" href={href}>
            {text}
          </a>
        </p>
        <p class="quiet">Request {requestId}</p>
      </Page>
    ),
  };
}
