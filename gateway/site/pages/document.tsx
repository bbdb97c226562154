import type { ComponentChild, ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { render } from 'preact-render-to-string';
import type { ErrorCode, GatewayError } from '../../errors.js';
import { PageShell } from '../../http/page-shell.js';
import { assetPath } from '../assets.js';
import type { PageAnswer } from '../page.js';
import { Form, type View, ViewContext } from './elements.js';

/**
 * A whole page as HTML. Rendered with Preact: JSX is checked by the compiler, and every value is escaped unless a page
 * asks for the opposite, which none does.
 */
export function renderDocument(view: View, title: string, body: ComponentChild): string {
  return `<!doctype html>${render(
    <ViewContext.Provider value={view}>
      <Document title={title}>{body}</Document>
    </ViewContext.Provider>,
  )}`;
}

function Document({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <PageShell title={title} kind="keys" path={assetPath} head={<HeadFiles />} navigation={<Navigation />}>
      {children}
    </PageShell>
  );
}

function HeadFiles() {
  return (
    <>
      <meta name="robots" content="noindex" />
      <link rel="stylesheet" href={assetPath('site.css')} />
      <script src={assetPath('site.js')} defer />
    </>
  );
}

function Navigation() {
  const { visitor } = useContext(ViewContext);
  if (!visitor) return null;
  return (
    <>
      <nav aria-label="Site">
        {visitor.operator && (
          <>
            <NavLink href="/overview">Overview</NavLink>
            <NavLink href="/tenants">Tenants</NavLink>
            <NavLink href="/keys">Keys</NavLink>
            <NavLink href="/audit">Audit</NavLink>
            <NavLink href="/operators">Operators</NavLink>
          </>
        )}
        {!visitor.operator &&
          visitor.tenants.map(({ id, name }) => (
            <NavLink key={id} href={`/tenants/${name}`}>
              {name}
            </NavLink>
          ))}
      </nav>
      <div class="who">
        <NavLink href="/account">{visitor.user.email}</NavLink>
        <Form action="/sign-out">
          <button type="submit" class="link">
            Sign out
          </button>
        </Form>
      </div>
    </>
  );
}

/** A link of the navigation, marked where it leads to this page or to one below it: below `within`, if that is said. */
function NavLink(props: { href: string; within?: string; children: ComponentChildren }) {
  const { path } = useContext(ViewContext);
  const { href, within = href } = props;
  const here = path === href || path === within || path.startsWith(`${within}/`);
  return (
    <a href={href} aria-current={here ? 'page' : undefined}>
      {props.children}
    </a>
  );
}

/** The head of every page of one tenant: its name, and the ways to its other pages. */
export function TenantFrame({ name, children }: { name: string; children: ComponentChildren }) {
  const { visitor } = useContext(ViewContext);
  const base = `/tenants/${name}`;
  return (
    <>
      {visitor?.operator && (
        <p class="crumbs">
          <a href="/tenants">Tenants</a> /
        </p>
      )}
      <h1>{name}</h1>
      <nav class="tabs" aria-label={`Tenant ${name}`}>
        <NavLink href={base} within={`${base}/keys`}>
          Keys
        </NavLink>
        <NavLink href={`${base}/usage`}>Usage</NavLink>
        <NavLink href={`${base}/jobs`}>Jobs</NavLink>
        <NavLink href={`${base}/webhooks`}>Webhooks</NavLink>
        {visitor?.operator && (
          <>
            <NavLink href={`${base}/limits`}>Limits</NavLink>
            <NavLink href={`${base}/members`}>Members</NavLink>
            <NavLink href={`${base}/audit`}>Audit</NavLink>
          </>
        )}
      </nav>
      {children}
    </>
  );
}

const errorTitles: Partial<Record<number, string>> = {
  401: 'Please sign in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Sent already',
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

/** A page to continue from: after a failure of the provider, signing in by password still works. */
function errorLink({ status, code }: GatewayError): [href: string, text: string] {
  return status === 401 || code === 'upstream_failed' ? ['/sign-in', 'Sign in'] : ['/', 'Go to the start'];
}

/** What went wrong, as a page that leads on. */
export function errorPage(error: GatewayError, requestId: string): PageAnswer {
  const title = errorTitles[error.status] ?? (error.status < 500 ? 'That did not work' : 'Something broke');
  const [href, text] = errorLink(error);
  return {
    title,
    status: error.status,
    body: (
      <section class="narrow">
        <h1>{title}</h1>
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
      </section>
    ),
  };
}
