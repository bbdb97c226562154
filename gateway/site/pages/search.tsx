import { isLine } from '../../../schemas/keywords/line.js';
import { parseKey } from '../../keys/model.js';
import { isTenantName } from '../../keys/schemas.js';
import { get, post, type UserCall } from '../page.js';
import type { Site } from '../site.js';
import { Page } from './document.js';
import { Empty, Table } from './elements.js';
import { SearchForm } from './lists.js';

/** The search field of every page. It sends its text as a form, as that may be a whole key. */
export const searchPages = [
  post.user('/search', async (call) => {
    const text = (call.form.get('q') ?? '').trim().slice(0, 200);
    return (await redirectSecret(call, text)) ?? { redirect: `/search?q=${encodeURIComponent(text)}` };
  }),
  get.user('/search', searchPage),
];

const hitsOfEach = 10;

/** One thing that was found. */
interface Hit {
  kind: string;
  title: string;
  href: string;
}

async function searchPage(call: UserCall) {
  const text = (call.query.get('q') ?? '').trim();
  const secret = await redirectSecret(call, text);
  if (secret) return secret;
  const hits = text === '' ? [] : await findHits(call, text);
  // People and keys may have a tenant's name in theirs.
  const named = hits.find(({ kind, title }) => kind === 'Tenant' && title === text.toLowerCase());
  const only = named ?? (hits.length === 1 ? hits[0] : undefined);
  if (only) return { redirect: only.href };
  return (
    <Page title="Search">
      <div class="list-head">
        <SearchForm label="Tenants, keys, people, request ids" />
      </div>
      <Empty of={hits} title={text === '' ? 'What are you looking for?' : `Nothing matches “${text}”`}>
        Type a part of a tenant’s name, a key’s label, id or first characters, or a whole key.
      </Empty>
      <Table
        label="What was found"
        rows={hits}
        columns={[
          { head: 'Found', rowHead: true, cell: ({ href, title }) => <a href={href}>{title}</a> },
          { head: 'What it is', cell: ({ kind }) => kind },
        ]}
      />
    </Page>
  );
}

/**
 * Where a text leads that has a whole key or token in it, which must not stay in an address: to the page of its key, where
 * the visitor may have that, else to a search for its first characters.
 */
export async function redirectSecret({ site, visitor }: UserCall, text: string | undefined) {
  const [secret] = /\bhg[a-z]?_\S{8,}/.exec(text ?? '') ?? [];
  if (!secret) return undefined;
  const digest = parseKey(secret);
  const [found] = digest ? await site.store.find([digest.hash]) : [];
  const mayEnter = visitor.role || visitor.tenants.some(({ id }) => id === found?.tenant.id);
  if (found && mayEnter) return { redirect: `/keys/${found.key.id}` };
  return { redirect: `/search?q=${encodeURIComponent(secret.slice(0, secret.indexOf('_') + 5))}` };
}

/** What has this text in it, of what the visitor may see: of the whole gateway for the staff, else of their tenants. */
async function findHits({ site, visitor }: UserCall, q: string): Promise<Hit[]> {
  if (!isLine(q, 200)) return [];
  if (visitor.role !== null) {
    const [{ tenants }, { people }, ...found] = await Promise.all([
      site.admin.listTenants({ q, limit: hitsOfEach }),
      site.people.search({ q, after: undefined, before: undefined }),
      findKeys(site, q),
      findRequests(site, q),
    ]);
    return [
      ...tenants.map(({ name }) => ({ kind: 'Tenant', title: name, href: `/tenants/${name}` })),
      ...found.flat(),
      ...people.slice(0, hitsOfEach).map(({ email, tenant }) => {
        return { kind: `Person of ${tenant}`, title: email, href: `/tenants/${tenant}/members` };
      }),
    ];
  }
  const found = visitor.tenants.map(async ({ name }) => [
    ...(name.includes(q.toLowerCase()) ? [{ kind: 'Tenant', title: name, href: `/tenants/${name}` }] : []),
    ...(await findKeys(site, q, name)),
    ...(await findRequests(site, q, name)),
  ]);
  return (await Promise.all(found)).flat();
}

async function findKeys({ admin }: Site, q: string, tenant?: string): Promise<Hit[]> {
  const { keys } = await admin.searchKeys({ q, tenant, state: 'all', limit: hitsOfEach });
  return keys.map(({ id, label, tenant }) => ({
    kind: `Key of ${tenant}`,
    title: label ?? id,
    href: `/keys/${id}`,
  }));
}

/** A request is found by its whole id alone. */
async function findRequests({ reports }: Site, id: string, tenant?: string): Promise<Hit[]> {
  if (!/^[\w.:-]{8,60}$/.test(id)) return [];
  const { requests } = await reports.requests({ request_id: id, ...(tenant && { tenant }) });
  return requests.map(({ tenant, service, code }) => ({
    kind: `Request of ${tenant}`,
    title: `${service}: ${code}`,
    // A tenant that was deleted has no pages.
    href: `${isTenantName(tenant) ? `/tenants/${tenant}` : ''}/requests?request_id=${encodeURIComponent(id)}`,
  }));
}
