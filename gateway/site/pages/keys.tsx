import { GatewayError } from '../../errors.js';
import type { IssueOptions } from '../../keys/inputs.js';
import { type KeyView, type KeyWithSecrets, knownScopes, scopeAllows, viewKey } from '../../keys/model.js';
import { isKeyId, keySchema } from '../../keys/schemas.js';
import { actorOf } from '../accounts/account.js';
import {
  emptyForm,
  type FormState,
  formState,
  forOperator,
  forTenant,
  getRoute,
  type PageAnswer,
  type PageRequest,
  type PageRoute,
  postOnceRoute,
  readList,
  type WithTenant,
} from '../page.js';
import type { Site } from '../site.js';
import { TenantFrame } from './document.js';
import {
  CopyBox,
  Empty,
  Field,
  Form,
  Moment,
  NextPage,
  Notice,
  Scopes,
  StateLabel,
  Table,
} from './elements.js';

const keysPerPage = 50;

/** A tenant's keys, and the form for another. */
export const tenantKeysPages: PageRoute[] = [
  getRoute(forTenant, '/tenants/:tenant', (call) => tenantKeysPage(call, emptyForm)),
  // Where a reload of the page that shows a new key leads, once the browser has forgotten the form.
  getRoute(forTenant, '/tenants/:tenant/keys', async (call) => ({
    redirect: `/tenants/${call.tenant.name}`,
  })),
  postOnceRoute(forTenant, '/tenants/:tenant/keys', issueKey),
];

async function issueKey(call: PageRequest & WithTenant): Promise<PageAnswer> {
  const { site, form } = call;
  const { name } = call.tenant;
  try {
    const issued = await site.admin.issueKey(name, readIssueForm(form), actorOf(call.visitor.user));
    const until = issued.expires_at ? ` It stops working on ${issued.expires_at.slice(0, 10)}.` : '';
    return newKeyPage({
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
    return { ...(await tenantKeysPage(call, state)), status: 400 };
  }
}

/** A helper to show in a line to try: a text one where the key may call one, as it needs no picture. */
export function serviceFor(site: Site, scopes: readonly string[] | null): string | undefined {
  const allowed = site.services().filter(({ id }) => scopeAllows(scopes, id));
  return (allowed.find(({ id }) => id.startsWith('text/')) ?? allowed[0])?.id;
}

async function tenantKeysPage(call: PageRequest & WithTenant, state: FormState): Promise<PageAnswer> {
  const { site, query } = call;
  const { name } = call.tenant;
  const after = query.get('after');
  const { keys, next } = await readList(() => site.admin.listKeys(name, { after, limit: keysPerPage }));
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
        <NextPage href={next && `/tenants/${name}?after=${encodeURIComponent(next)}`} />
        <IssueForm tenant={name} services={site.services} state={state} />
      </TenantFrame>
    ),
  };
}

const tenantsPerPage = 20;
const keysPerTenant = 100;

export const allKeysPages: PageRoute[] = [getRoute(forOperator, '/keys', allKeysPage)];

/** Every key, under its tenant. */
async function allKeysPage({ site, query }: PageRequest): Promise<PageAnswer> {
  const after = query.get('after');
  const { tenants, next } = await readList(() => site.admin.listTenants({ after, limit: tenantsPerPage }));
  const lists = await Promise.all(
    tenants.map(async ({ name }) => ({
      name,
      ...(await site.admin.listKeys(name, { limit: keysPerTenant })),
    })),
  );
  const filled = lists.filter(({ keys }) => keys.length > 0);
  return {
    title: 'Keys',
    body: (
      <>
        <h1>Keys</h1>
        {filled.length === 0 && (
          <Empty title="No keys here yet">
            <p>
              Choose a tenant under <a href="/tenants">Tenants</a> and issue its first key there.
            </p>
          </Empty>
        )}
        {filled.map(({ name, keys, next: more }) => (
          <section key={name}>
            <h2>
              <a href={`/tenants/${name}`}>{name}</a>
            </h2>
            <KeyList tenant={name} keys={keys} />
            {more && (
              <p>
                <a href={`/tenants/${name}?after=${more}`}>More keys of {name}</a>
              </p>
            )}
          </section>
        ))}
        <NextPage href={next && `/keys?after=${encodeURIComponent(next)}`} />
      </>
    ),
  };
}

/** Where the page of a key lies. */
export const keyPath = '/tenants/:tenant/keys/:key';

/** A page of one key. */
export type KeyCall = PageRequest & WithTenant;

/** The key in the path, if it is this tenant's: another tenant's key is as good as none. */
export async function findKeyRow({ site, params, tenant }: KeyCall): Promise<KeyWithSecrets> {
  const key = isKeyId(params.key) ? await site.store.key(params.key) : undefined;
  if (key?.tenant_id !== tenant.id) throw new GatewayError('not_found');
  return key;
}

/** The same as people see it. */
export async function findKey(call: KeyCall): Promise<KeyView> {
  return viewKey(await findKeyRow(call), call.site.now());
}

/** The address of its page. */
export function keyHref(call: KeyCall, key: Pick<KeyView, 'id'>): string {
  return `/tenants/${call.tenant.name}/keys/${key.id}`;
}

/** The form for a new key. */
function IssueForm(props: { tenant: string; services: Site['services']; state: FormState }) {
  const { tenant, state } = props;
  const services = props.services();
  const summaries = new Map(services.map(({ id, summary }) => [id, summary]));
  const scopes = knownScopes(services.map(({ id }) => id));
  return (
    <section class="panel" id="issue">
      <h2>Issue a key</h2>
      <Form action={`/tenants/${tenant}/keys`} once>
        <Field
          name="label"
          label="Label"
          state={state}
          maxLength={keySchema.properties.label.line}
          hint="Who or what uses it, such as “billing, production”."
        />
        <fieldset aria-describedby={state.problems.scopes ? 'scopes-problem' : 'scopes-hint'}>
          <legend>May call</legend>
          <p class="hint" id="scopes-hint">
            None chosen means every helper, those added later too.
          </p>
          <div class="checks">
            {scopes.map((scope) => (
              <label class="choice" key={scope}>
                <input type="checkbox" name={`scope:${scope}`} checked={state.values.has(`scope:${scope}`)} />{' '}
                <span>
                  <code>{scope}</code>
                  <small>
                    {summaries.get(scope) ?? 'Every helper in this group, those added later too.'}
                  </small>
                </span>
              </label>
            ))}
          </div>
          {state.problems.scopes && (
            <p class="problem" id="scopes-problem">
              May call {state.problems.scopes}.
            </p>
          )}
        </fieldset>
        <Field
          name="expires_at"
          label="Expires"
          type="date"
          state={state}
          placeholder="2030-01-31"
          hint="The key stops working when this day begins in UTC. Empty: it never expires."
        />
        <button type="submit">Issue key</button>
      </Form>
    </section>
  );
}

/** Reads the form; what is wrong with it is the key store's to say. */
function readIssueForm(form: ReadonlyMap<string, string>): IssueOptions {
  const scopes = [...form.keys()].filter((name) => name.startsWith('scope:')).map((name) => name.slice(6));
  return {
    label: form.get('label')?.trim() || undefined,
    scopes: scopes.length > 0 ? scopes : undefined,
    expires_at: form.get('expires_at')?.trim() || undefined,
  };
}

/** Keys as a table, each leading to its page. */
function KeyList({ tenant, keys }: { tenant: string; keys: readonly KeyView[] }) {
  return (
    <Table
      label={`Keys of ${tenant}`}
      head={
        <>
          <th scope="col">Label</th>
          <th scope="col">Key</th>
          <th scope="col">State</th>
          <th scope="col">May call</th>
          <th scope="col">Expires</th>
          <th scope="col">Last used</th>
        </>
      }
    >
      {keys.map((key) => (
        <tr key={key.id}>
          <th scope="row">
            <a href={`/tenants/${tenant}/keys/${key.id}`}>{key.label ?? key.id}</a>
          </th>
          <td>
            <code>{key.hint}</code>
          </td>
          <td>
            <StateLabel state={key.state} />
            {key.secrets.length > 1 && <span class="state grace">{key.secrets.length - 1} in grace</span>}
          </td>
          <td class="scopes">
            <Scopes scopes={key.scopes} />
          </td>
          <td>{key.expires_at ? <Moment at={key.expires_at} /> : <span class="quiet">never</span>}</td>
          <td>{key.last_used_at ? <Moment at={key.last_used_at} /> : <span class="quiet">never</span>}</td>
        </tr>
      ))}
    </Table>
  );
}

interface ShownKey {
  tenant: string;
  id: string;
  /** The secret, this once. */
  key: string;
  apiUrl: string;
  /** A helper that the key may call. */
  service: string | undefined;
  /** What the rest of the page says of it. */
  note: string;
  /** Whether urls can be signed with it. */
  signs: boolean;
}

/**
 * The one page that holds a secret. It answers the form itself: a redirect would have to keep the secret somewhere. The
 * form's mark keeps a reload from making another key.
 */
export function newKeyPage({ tenant, id, key, apiUrl, service, note, signs }: ShownKey): PageAnswer {
  const page = `/tenants/${tenant}/keys/${id}`;
  return {
    title: 'Your new key',
    body: (
      <TenantFrame name={tenant}>
        <section data-replace={page}>
          <h2>Your new key</h2>
          <Notice kind="warn">
            <strong>Copy it now: it is shown this once.</strong> Only a hash of it is kept, so nobody can show
            it again.
          </Notice>
          <CopyBox id="key" label="API key" text={key} />
          {service && <CopyBox id="curl" label="Try it" text={curlLine(apiUrl, service, key)} />}
          <p>{note}</p>
          {signs && (
            <p>
              Not for the source of a web page, where everybody reads it: a page shows a picture by a{' '}
              <a href={`${page}/sign`}>signed url</a>, which opens that one picture and nothing else.
            </p>
          )}
          <p>
            <a class="button" href={page}>
              I have copied it
            </a>
          </p>
        </section>
      </TenantFrame>
    ),
  };
}

/** Harmless wherever it is run: a dry run of the helper, with the key in a header so that it stays out of access logs. */
function curlLine(apiUrl: string, service: string, key: string): string {
  const base = apiUrl.replace(/\/$/, '');
  if (service === 'text/diff-two-strings') {
    return `curl -G '${base}/${service}' -H 'Authorization: Bearer ${key}' --data-urlencode 'a=one' --data-urlencode 'b=two'`;
  }
  return `curl '${base}/${service}?dryrun=true' -H 'Authorization: Bearer ${key}'`;
}
