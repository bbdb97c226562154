import type { NoticeView } from '../../notices/store.js';
import { get, type PageCall, post, readList, type TenantCall, type UserCall } from '../page.js';
import { Page, ShownPage } from './document.js';
import { CopyBox, Empty, Form, Moment, Notice, Table } from './elements.js';
import { Chips, Pager } from './lists.js';

/** The notices of all tenants, and of one. */
export const noticePages = [
  get.operator('/notices', async (call) => (
    <Page title="Notices">
      <Receiver {...call} />
      {await list(call)}
    </Page>
  )),
  // A reload of the page that shows the secret leads here.
  get.operator('/notices/secret', async () => ({ redirect: '/notices' })),
  post.operator('/notices/secret', showSecret),
  get.tenant('/tenants/:tenant/notices', async (call) => (
    <Page tenant={call.tenant.name} title={`Notices of ${call.tenant.name}`}>
      <h2>Notices</h2>
      <TenantReceiver {...call} />
      {await list(call, call.tenant.id)}
    </Page>
  )),
];

const types = [
  ['', 'All'],
  ['tenant.budget', 'Budgets'],
  ['key.expiring', 'Expiring keys'],
  ['key.expired', 'Expired keys'],
  ['webhook.failing', 'Webhooks'],
] as const;

async function list({ site, query }: PageCall, tenantId?: string) {
  const after = query.get('after');
  const asked = { type: query.get('type') || undefined, after: after === undefined ? after : Number(after) };
  const { notices, next } = await readList(() => site.notices.list({ ...asked, limit: 50 }, tenantId));
  return (
    <>
      <div class="list-head">
        <Chips name="type" label="Type" options={types} />
      </div>
      <Empty of={notices} title="No notices">
        There is one when a tenant has used 50, 80 and 100 % of a monthly limit; 30, 7 and 1 days before a key
        expires, and when it has; and once a day where webhooks fail.
      </Empty>
      <NoticeTable notices={notices} ofAll={tenantId === undefined} />
      <Pager next={next === null ? null : String(next)} />
    </>
  );
}

/** Notices, each with a link to what it is about; `ofAll` where they are of several tenants. */
export function NoticeTable({ notices, ofAll }: { notices: readonly NoticeView[]; ofAll: boolean }) {
  const tenantColumn = {
    ...{ head: 'Tenant', class: 'name', priority: 2 as const },
    cell: ({ tenant }: NoticeView) => tenant && <a href={`/tenants/${tenant}`}>{tenant}</a>,
  };
  return (
    <Table
      label="Notices, newest first"
      rows={notices}
      columns={[
        { head: 'When', cell: ({ at }) => <Moment at={at} /> },
        { head: 'Notice', cell: (notice) => <What notice={notice} /> },
        ...(ofAll ? [tenantColumn] : []),
      ]}
    />
  );
}

function What({ notice: { type, tenant, text, data } }: { notice: NoticeView }) {
  const key = `keys/${data.key}`;
  const page = {
    'tenant.budget': 'usage',
    'key.expiring': key,
    'key.expired': key,
    'webhook.failing': 'webhooks',
  };
  return tenant === null ? <span>{text}</span> : <a href={`/tenants/${tenant}/${page[type]}`}>{text}</a>;
}

function TenantReceiver({ site, tenant: { notice_url: url } }: TenantCall) {
  if (!site.signing.available) return <Unsigned />;
  return (
    <p class="lead">
      {url === null
        ? 'Notices are only listed here: an operator can set an address that they are sent to.'
        : `Notices are sent to ${new URL(url).host} as webhooks, signed with the secret on the page Webhooks.`}
    </p>
  );
}

function Receiver({ site }: PageCall) {
  const { operatorHost: host } = site.notices;
  if (!site.signing.available) return <Unsigned />;
  return (
    <>
      <p class="lead">
        A tenant's notices are sent to its own notice address.{' '}
        {host === undefined
          ? 'To get all of them yourself, set '
          : `All of them are sent to ${host} as well: that is `}
        <code>HELPER_NOTICES_URL</code>.
      </p>
      {host !== undefined && (
        <Form action="/notices/secret" class="inline">
          <button type="submit" class="small quiet-button">
            Show the secret that signs yours
          </button>
        </Form>
      )}
    </>
  );
}

function Unsigned() {
  return (
    <Notice kind="warn">
      This gateway sends no notices: with DATABASE_URL, its operator has to set HELPER_SIGNING_SECRET, to the
      same on all gateways.
    </Notice>
  );
}

async function showSecret({ site, actor }: UserCall) {
  if (!site.signing.available) return { redirect: '/notices' };
  const { webhook_secret } = await site.admin.noticesSecret(actor);
  return (
    <ShownPage title="The secret of your notices" href="/notices" back="Back to notices">
      <CopyBox id="secret" label="Webhook secret" text={webhook_secret} />
      <p>
        It signs what is sent to <code>HELPER_NOTICES_URL</code>, and follows from the gateway's master
        secret. The audit log notes that it was shown to you.
      </p>
    </ShownPage>
  );
}
