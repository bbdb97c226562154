import { useContext } from 'preact/hooks';
import { GatewayError } from '../../errors.js';
import type { IssueOptions } from '../../keys/inputs.js';
import { type KeyView, type KeyWithSecrets, knownScopes, scopeAllows, viewKey } from '../../keys/model.js';
import { isKeyId, keySchema } from '../../keys/schemas.js';
import { recipesFolder } from '../../plugins/paths.js';
import { formState, get, type PageCall, postOnce, readList, refused, type TenantCall } from '../page.js';
import { type Service, servicesFor } from '../site.js';
import { Page, ShownPage } from './document.js';
import {
  CopyBox,
  Empty,
  Field,
  Form,
  Moment,
  Notice,
  Scopes,
  State,
  Table,
  ViewContext,
} from './elements.js';
import { Pager } from './lists.js';

const keysPerPage = 50;
const tenantsPerPage = 20;
const keysPerTenant = 100;

/** The keys of a tenant with the form for another, and those of all tenants. */
export const keysPages = [
  get.tenant('/tenants/:tenant', tenantKeysPage),
  // A reload of the page that shows a new key leads here, once the browser has forgotten the form.
  get.tenant('/tenants/:tenant/keys', async ({ tenant }) => ({
    redirect: `/tenants/${tenant.name}`,
  })),
  postOnce.tenant('/tenants/:tenant/keys', issueKey),
  get.operator('/keys', allKeysPage),
];

async function issueKey(call: TenantCall) {
  const { site, form, tenant, actor } = call;
  try {
    const issued = await site.admin.issueKey(tenant.name, readIssueForm(form), actor);
    const until = issued.expires_at ? ` It stops working on ${issued.expires_at.slice(0, 10)}.` : '';
    return newKeyPage(call, issued, `It works at once.${until}`);
  } catch (error) {
    return refused(formState(error, form, 'label'), await tenantKeysPage(call));
  }
}

async function tenantKeysPage(call: TenantCall) {
  const { site, query, tenant } = call;
  const { name } = tenant;
  const after = query.get('after');
  const { keys, next } = await readList(() => site.admin.listKeys(name, { after, limit: keysPerPage }));
  return (
    <Page tenant={name} title={name}>
      <h2>Keys</h2>
      <Empty of={keys} title="No keys yet">
        Issue the first one below, put it into your program as the parameter ak, and make a call.
      </Empty>
      <KeyTable tenant={name} keys={keys} />
      <Pager next={next} />
      <IssueForm tenant={name} services={await servicesFor(site, name)} />
    </Page>
  );
}

/** Every key, under its tenant. */
async function allKeysPage({ site, query }: PageCall) {
  const after = query.get('after');
  const { tenants, next } = await readList(() => site.admin.listTenants({ after, limit: tenantsPerPage }));
  const lists = await Promise.all(
    tenants.map(async ({ name }) => ({
      name,
      ...(await site.admin.listKeys(name, { limit: keysPerTenant })),
    })),
  );
  const filled = lists.filter(({ keys }) => keys.length > 0);
  return (
    <Page title="Keys">
      <Empty of={filled} title="No keys here yet">
        Choose a tenant under <a href="/tenants">Tenants</a> and issue its first key there.
      </Empty>
      {filled.map(({ name, keys, next: more }) => (
        <section key={name}>
          <h2>
            <a href={`/tenants/${name}`}>{name}</a>
          </h2>
          <KeyTable tenant={name} keys={keys} />
          {more && (
            <p>
              <a href={`/tenants/${name}?after=${more}`}>More keys of {name}</a>
            </p>
          )}
        </section>
      ))}
      <Pager next={next} />
    </Page>
  );
}

/** Keys as a table, each with a link to its page. */
function KeyTable({ tenant, keys }: { tenant: string; keys: readonly KeyView[] }) {
  const moment = (at: string | null) => (at ? <Moment at={at} /> : <span class="quiet">never</span>);
  const stateOf = ({ state, secrets }: KeyView) => (
    <>
      <State state={state} />
      {secrets.length > 1 && <State state="in_grace" />}
    </>
  );
  return (
    <Table
      label={`Keys of ${tenant}`}
      rows={keys}
      columns={[
        {
          head: 'Label',
          rowHead: true,
          cell: ({ id, label }) => <a href={`/tenants/${tenant}/keys/${id}`}>{label ?? id}</a>,
        },
        { head: 'Key', cell: ({ hint }) => <code>{hint}</code> },
        { head: 'State', cell: stateOf },
        { head: 'May call', class: 'scopes', cell: ({ scopes }) => <Scopes scopes={scopes} /> },
        { head: 'Expires', cell: ({ expires_at }) => moment(expires_at) },
        { head: 'Last used', cell: ({ last_used_at }) => moment(last_used_at) },
      ]}
    />
  );
}

function IssueForm({ tenant, services }: { tenant: string; services: readonly Service[] }) {
  const { values, problems } = useContext(ViewContext).form;
  const summaries = new Map(services.map(({ id, summary }) => [id, summary]));
  const scopes = [...new Set([...knownScopes(services.map(({ id }) => id)), `${recipesFolder}*`])].sort();
  return (
    <section class="panel" id="issue">
      <h2>Issue a key</h2>
      <Form action={`/tenants/${tenant}/keys`} once>
        <Field
          name="label"
          label="Label"
          maxLength={keySchema.properties.label.line}
          hint="Who or what uses it, such as “billing, production”."
        />
        <fieldset aria-describedby={problems.scopes ? 'scopes-problem' : 'scopes-hint'}>
          <legend>May call</legend>
          <p class="hint" id="scopes-hint">
            None chosen means every helper, those added later too.
          </p>
          <div class="checks">
            {scopes.map((scope) => (
              <label class="choice" key={scope}>
                <input type="checkbox" name={`scope:${scope}`} checked={values.has(`scope:${scope}`)} />{' '}
                <span>
                  <code>{scope}</code>
                  <small>{summaries.get(scope) ?? groupSummary(scope)}</small>
                </span>
              </label>
            ))}
          </div>
          {problems.scopes && (
            <p class="problem" id="scopes-problem">
              May call {problems.scopes}.
            </p>
          )}
        </fieldset>
        <Field
          name="expires_at"
          label="Expires"
          type="date"
          placeholder="2030-01-31"
          hint="The key stops working when this day begins in UTC. Empty: it never expires."
        />
        <button type="submit">Issue key</button>
      </Form>
    </section>
  );
}

function groupSummary(scope: string): string {
  const what = scope === `${recipesFolder}*` ? 'Every recipe of this tenant' : 'Every helper in this group';
  return `${what}, those added later too.`;
}

/** Reads the form; the administration checks it. */
function readIssueForm(form: ReadonlyMap<string, string>): IssueOptions {
  const scopes = [...form.keys()].filter((name) => name.startsWith('scope:')).map((name) => name.slice(6));
  return {
    label: form.get('label')?.trim() || undefined,
    scopes: scopes.length > 0 ? scopes : undefined,
    expires_at: form.get('expires_at')?.trim() || undefined,
  };
}

/** Answers the form itself: a redirect would have to store the secret. The form's mark makes a reload harmless. */
export async function newKeyPage(
  { site, tenant }: TenantCall,
  { id, key, scopes }: { id: string; key: string; scopes: readonly string[] | null },
  note: string,
) {
  const page = `/tenants/${tenant.name}/keys/${id}`;
  const allowed = (await servicesFor(site, tenant.name)).filter((service) => scopeAllows(scopes, service.id));
  // A text helper where the key may call one, as it needs no picture.
  const service = allowed.find((each) => each.id.startsWith('text/')) ?? allowed[0];
  return (
    <ShownPage tenant={tenant.name} title="Your new key" href={page} back="I have copied it">
      <Notice kind="warn">
        <strong>Copy it now: it is shown this once.</strong> Only a hash of it is kept, so nobody can show it
        again.
      </Notice>
      <CopyBox id="key" label="API key" text={key} />
      {service && <CopyBox id="curl" label="Try it" text={curlLine(site.apiUrl, service.id, key)} />}
      <p>{note}</p>
      {site.signing.available && (
        <p>
          Not for the source of a web page, where everybody reads it: a page shows a picture by a{' '}
          <a href={`${page}/sign`}>signed url</a>, which opens that one picture and nothing else.
        </p>
      )}
    </ShownPage>
  );
}

/** Harmless: a dry run, with the key in a header so that it stays out of access logs. */
function curlLine(apiUrl: string, service: string, key: string): string {
  if (service === 'text/diff-two-strings') {
    return `curl -G '${apiUrl}/${service}' -H 'Authorization: Bearer ${key}' --data-urlencode 'a=one' --data-urlencode 'b=two'`;
  }
  return `curl '${apiUrl}/${service}?dryrun=true' -H 'Authorization: Bearer ${key}'`;
}

export const keyPath = '/tenants/:tenant/keys/:key';

/** The key in the path; another tenant's key is `not_found` too. */
export async function findKeyRow({ site, params, tenant }: TenantCall): Promise<KeyWithSecrets> {
  const key = isKeyId(params.key) ? await site.store.key(params.key) : undefined;
  if (key?.tenant_id !== tenant.id) throw new GatewayError('not_found');
  return key;
}

export async function findKey(call: TenantCall): Promise<KeyView> {
  return viewKey(await findKeyRow(call), call.site.now());
}

export function keyHref({ tenant }: TenantCall, key: Pick<KeyView, 'id'>): string {
  return `/tenants/${tenant.name}/keys/${key.id}`;
}
