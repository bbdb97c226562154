import { useContext } from 'preact/hooks';
import type { IssueOptions } from '../../keys/inputs.js';
import { type KeyView, knownScopes, scopeAllows } from '../../keys/model.js';
import { keySchema } from '../../keys/schemas.js';
import { recipesFolder } from '../../plugins/paths.js';
import { get, readList, type TenantCall, type UserCall } from '../page.js';
import { type Service, servicesFor } from '../site.js';
import { Page, ShownPage } from './document.js';
import {
  type Column,
  CopyBox,
  Empty,
  Field,
  Moment,
  Notice,
  Scopes,
  type Sorting,
  State,
  Table,
  ViewContext,
} from './elements.js';
import { Chips, Pager, readListQuery, SearchForm } from './lists.js';
import { redirectSecret } from './search.js';

const keysPerPage = 50;

export const keysPages = [get.operator('/keys', allKeysPage)];

export const keyStates = [
  ['', 'In use'],
  ['active', 'Active'],
  ['paused', 'Paused'],
  ['in_grace', 'In grace'],
  ['expired', 'Expired'],
  ['revoked', 'Revoked'],
  ['all', 'All'],
] as const;

/** Every key of every tenant, or of the one that the address names, newest first. */
async function allKeysPage(call: UserCall) {
  const { site, query } = call;
  const secret = await redirectSecret(call, query.get('q'));
  if (secret) return secret;
  const { sorting, ...asked } = readListQuery(query, { by: 'created_at', order: 'desc' });
  const tenant = query.get('tenant') || undefined;
  const { keys, previous, next } = await readList(() =>
    site.admin.searchKeys({ ...asked, tenant, limit: keysPerPage }),
  );
  const isFiltered = asked.q || asked.state || tenant;
  return (
    <Page title={tenant ? `Keys of ${tenant}` : 'Keys'}>
      <div class="list-head">
        <SearchForm label="Label, id or first characters" />
        <Chips name="state" label="State" options={keyStates} />
      </div>
      <Empty of={keys} title={isFiltered ? 'No key matches' : 'No keys yet'}>
        {isFiltered ? (
          <a href="/keys">Show every key in use</a>
        ) : (
          <>
            Keys are issued on the page of their tenant: see <a href="/tenants">Tenants</a>.
          </>
        )}
      </Empty>
      <KeyTable label="Keys of all tenants" keys={keys} sorting={sorting} withTenant />
      <Pager previous={previous} next={next} />
    </Page>
  );
}

interface KeyTableProps {
  label: string;
  keys: readonly KeyView[];
  sorting: Sorting;
  withTenant?: boolean;
}

/** Keys as a table, each with a link to its page. */
export function KeyTable({ label, keys, sorting, withTenant }: KeyTableProps) {
  const tenantColumn: Column<KeyView> = {
    head: 'Tenant',
    class: 'name',
    cell: ({ tenant }) => <a href={`/tenants/${tenant}`}>{tenant}</a>,
  };
  const columns: Column<KeyView>[] = [
    {
      head: 'Label',
      rowHead: true,
      sort: 'label',
      cell: ({ id, label }) => <a href={`/keys/${id}`}>{label ?? id}</a>,
    },
    ...(withTenant ? [tenantColumn] : []),
    { head: 'Key', priority: 3, cell: ({ hint }) => <code>{hint}</code> },
    {
      head: 'State',
      cell: ({ state, secrets }) => (
        <>
          <State state={state} />
          {secrets.length > 1 && <State state="in_grace" />}
        </>
      ),
    },
    { head: 'May call', class: 'scopes', priority: 3, cell: ({ scopes }) => <Scopes scopes={scopes} /> },
    { head: 'Expires', priority: 2, cell: ({ expires_at }) => <Moment at={expires_at} none="never" /> },
    {
      head: 'Last used',
      ...(withTenant && { priority: 2 }),
      sort: 'last_used_at',
      cell: ({ last_used_at }) => <Moment at={last_used_at} none="never" />,
    },
    {
      head: 'Created',
      sort: 'created_at',
      priority: 3,
      cell: ({ created_at }) => <Moment at={created_at} />,
    },
  ];
  return <Table label={label} rows={keys} columns={columns} sorting={sorting} />;
}

/** What a form sets of a key: of a new one, or of one that has this. */
export function KeyFields(props: {
  services: readonly Service[];
  label?: string | null;
  scopes?: readonly string[] | null;
  day?: string | null;
}) {
  return (
    <>
      <Field
        name="label"
        label="Label"
        maxLength={keySchema.properties.label.line}
        value={props.label ?? ''}
        hint="Who or what uses it, such as “billing, production”."
      />
      <ScopeChecks services={props.services} chosen={props.scopes ?? null} />
      <Field
        name="expires_at"
        label="Expires"
        type="date"
        placeholder="2030-01-31"
        value={props.day ?? ''}
        hint="The key stops working when this day begins in UTC. Empty: it never expires."
      />
    </>
  );
}

/** What a key may call, as boxes to tick. */
function ScopeChecks(props: { services: readonly Service[]; chosen: readonly string[] | null }) {
  const { services, chosen } = props;
  const { values, problems } = useContext(ViewContext).form;
  const isChosen = (scope: string) =>
    values.size > 0 ? values.has(`scope:${scope}`) : chosen?.includes(scope) === true;
  const summaries = new Map(services.map(({ id, summary }) => [id, summary]));
  const known = [...knownScopes(services.map(({ id }) => id)), `${recipesFolder}*`];
  const scopes = [...new Set([...known, ...(chosen ?? [])])].sort();
  return (
    <fieldset aria-describedby={problems.scopes ? 'scopes-problem' : 'scopes-hint'}>
      <legend>May call</legend>
      <p class="hint" id="scopes-hint">
        None chosen means every helper, those added later too.
      </p>
      <div class="checks">
        {scopes.map((scope) => (
          <label class="choice" key={scope}>
            <input type="checkbox" name={`scope:${scope}`} checked={isChosen(scope)} />{' '}
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
  );
}

function groupSummary(scope: string): string {
  const what = scope === `${recipesFolder}*` ? 'Every recipe of this tenant' : 'Every helper in this group';
  return `${what}, those added later too.`;
}

/** Reads the form; the administration checks it. */
export function readKeyForm(form: ReadonlyMap<string, string>): IssueOptions {
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
  const page = `/keys/${id}`;
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
