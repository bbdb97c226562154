import type { ComponentChild, ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { render } from 'preact-render-to-string';
import { PageShell } from '../../http/page-shell.js';
import { assetPath } from '../assets.js';
import { Form } from './form.js';
import { type View, ViewContext } from './view.js';

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
    <PageShell title={title} kind="keys" path={assetPath} head={<Files />} navigation={<Navigation />}>
      {children}
    </PageShell>
  );
}

function Files() {
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
export function NavLink(props: { href: string; within?: string; children: ComponentChildren }) {
  const { path } = useContext(ViewContext);
  const { href, within = href } = props;
  const here = path === href || path === within || path.startsWith(`${within}/`);
  return (
    <a href={href} aria-current={here ? 'page' : undefined}>
      {props.children}
    </a>
  );
}
