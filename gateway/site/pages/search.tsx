import { parseKey } from '../../keys/model.js';
import { isKeyId } from '../../keys/schemas.js';
import { findTenantFor, get, post, type UserCall } from '../page.js';
import { Page } from './document.js';
import { Empty, Table } from './elements.js';
import { SearchForm } from './lists.js';

/** The search field of every page. It sends its text as a form, as that may be a whole key. */
export const searchPages = [
  post.user('/search', async (call) => {
    const text = (call.form.get('q') ?? '').trim();
    const key = isSecret(text) ? await keyOfSecret(call, text) : undefined;
    if (key) return { redirect: key };
    return { redirect: `/search?q=${encodeURIComponent(publicPart(text))}` };
  }),
  get.user('/search', searchPage),
];

/** One thing that was found. */
interface Hit {
  kind: string;
  title: string;
  href: string;
}

async function searchPage(call: UserCall) {
  const text = (call.query.get('q') ?? '').trim();
  // Typed into the address by hand: it does not stay there.
  if (isSecret(text)) return { redirect: `/search?q=${encodeURIComponent(publicPart(text))}` };
  const hits = text === '' ? [] : await findHits(call, text);
  const [only] = hits;
  if (only && hits.length === 1) return { redirect: only.href };
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

/** Whether the text may be a key or a token as a whole, of which no address may hold more than the first characters. */
function isSecret(text: string): boolean {
  return /^hg[a-z]?_.{8,}$/.test(text);
}

function publicPart(text: string): string {
  return isSecret(text) ? text.slice(0, text.indexOf('_') + 5) : text.slice(0, 200);
}

/** The page of the key that this whole key opens, where the visitor may have it. */
async function keyOfSecret({ site, visitor }: UserCall, text: string): Promise<string | undefined> {
  const digest = parseKey(text);
  const [found] = digest ? await site.store.find([digest.hash]) : [];
  if (!found) return undefined;
  const { key, tenant } = found;
  const mayEnter = visitor.role || visitor.tenants.some(({ id }) => id === tenant.id);
  return mayEnter ? `/tenants/${tenant.name}/keys/${key.id}` : undefined;
}

async function findHits({ site, visitor }: UserCall, text: string): Promise<Hit[]> {
  if (isKeyId(text)) {
    const [found] = await site.store.findKeys([text]);
    const mayEnter = found && (visitor.role || visitor.tenants.some(({ id }) => id === found.tenant.id));
    if (!mayEnter) return [];
    const title = found.key.label ?? found.key.id;
    return [{ kind: 'Key', title, href: `/tenants/${found.tenant.name}/keys/${found.key.id}` }];
  }
  const found = await findTenantFor(visitor, text, site, false).catch(() => undefined);
  return found ? [{ kind: 'Tenant', title: found.tenant.name, href: `/tenants/${found.tenant.name}` }] : [];
}
