import { scopeAllows } from '../../keys/scopes.js';
import { actorOf } from '../accounts/session.js';
import { type OfTenant, tenant } from '../doors.js';
import {
  emptyForm,
  type FormState,
  formState,
  type PageAnswer,
  type PageRequest,
  readList,
} from '../page.js';
import { get, type PageRoute, postOnce } from '../route.js';
import type { Site } from '../site.js';
import { Empty, Next } from './elements.js';
import { IssueForm, readIssueForm } from './issue-form.js';
import { KeyList } from './key-list.js';
import { keyShown } from './key-shown.js';
import { TenantFrame } from './tenant-frame.js';

const keysShown = 50;

/** A tenant's keys, and the form for another. */
export const tenantKeysPages: PageRoute[] = [
  get(tenant, '/tenants/:tenant', (call) => keysPage(call, emptyForm)),
  // Where a reload of the page that shows a new key leads, once the browser has forgotten the form.
  get(tenant, '/tenants/:tenant/keys', async (call) => ({ redirect: `/tenants/${call.tenant.name}` })),
  postOnce(tenant, '/tenants/:tenant/keys', issue),
];

async function issue(call: PageRequest & OfTenant): Promise<PageAnswer> {
  const { site, form } = call;
  const { name } = call.tenant;
  try {
    const issued = await site.admin.issueKey(name, readIssueForm(form), actorOf(call.visitor.user));
    const until = issued.expires_at ? ` It stops working on ${issued.expires_at.slice(0, 10)}.` : '';
    return keyShown({
      tenant: name,
      id: issued.id,
      key: issued.key,
      apiUrl: site.apiUrl,
      signs: site.signing.available,
      service: serviceFor(site, issued.scopes),
      note: `It works at once.${until}`,
    });
  } catch (error) {
    const state = formState(error, form, 'label');
    return { ...(await keysPage(call, state)), status: 400 };
  }
}

/** A helper to show in a line to try: a text one where the key may call one, as it needs no picture. */
export function serviceFor(site: Site, scopes: readonly string[] | null): string | undefined {
  const allowed = site.services().filter(({ id }) => scopeAllows(scopes, id));
  return (allowed.find(({ id }) => id.startsWith('text/')) ?? allowed[0])?.id;
}

async function keysPage(call: PageRequest & OfTenant, state: FormState): Promise<PageAnswer> {
  const { site, query } = call;
  const { name } = call.tenant;
  const after = query.get('after');
  const { keys, next } = await readList(() => site.admin.listKeys(name, { after, limit: keysShown }));
  return {
    title: name,
    body: (
      <TenantFrame name={name}>
        <h2>Keys</h2>
        {keys.length === 0 ? (
          <Empty title="No keys yet">
            <p>Issue the first one below, put it into your program as the parameter ak, and make a call.</p>
          </Empty>
        ) : (
          <KeyList tenant={name} keys={keys} />
        )}
        <Next href={next && `/tenants/${name}?after=${encodeURIComponent(next)}`} />
        <IssueForm tenant={name} services={site.services} state={state} />
      </TenantFrame>
    ),
  };
}
