import type { ItemView, JobView } from '../../jobs/jobs.js';
import { get, post, type TenantCall } from '../page.js';
import { Page } from './document.js';
import { Empty, Facts, Form, formatBytes, formatCount, Moment, State, Table } from './elements.js';
import { PartsBar } from './figures.js';
import { Chips, Pager, readListQuery } from './lists.js';

const jobsShown = 50;
const itemsShown = 100;

/** A tenant's jobs, and one job: its progress, its items, and a form to cancel it. */
export const jobsPages = [
  get.tenant('/tenants/:tenant/jobs', jobsPage),
  get.tenant('/tenants/:tenant/jobs/:job', jobPage),
  post.tenant('/tenants/:tenant/jobs/:job/cancel', cancelJob),
];

const states = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const;

async function jobsPage({ site, query, search, tenant: { id, name } }: TenantCall) {
  const { after, before, ...asked } = readListQuery(query, { by: 'created_at', order: 'desc' });
  const state = states.find((each) => each === asked.state);
  const { jobs, previous, next } = await site.jobs.list(id, { limit: jobsShown, after, before, state });
  const jobLink = (id: string) => (
    <a href={`/tenants/${name}/jobs/${id}`}>
      <code>{id}</code>
    </a>
  );
  return (
    <Page tenant={name} title={`Jobs of ${name}`}>
      <div class="list-head">
        <h2>Jobs</h2>
        <Chips
          name="state"
          label="State"
          options={[['', 'All'], ...states.map((each) => [each, each] as const)]}
        />
      </div>
      <Empty of={jobs} title={state ? `No job is ${state}` : 'No jobs'}>
        A job is many inputs of one helper in one request, worked on when there is time: send them to{' '}
        <code>POST {site.apiUrl}/jobs</code>. It is listed here until its results are forgotten.
      </Empty>
      <RefreshLink jobs={jobs} href={`/tenants/${name}/jobs${search && `?${search}`}`} />
      <Table
        label={`Jobs of ${name}, the newest first`}
        rows={jobs}
        columns={[
          { head: 'Job', class: 'name', cell: (job) => jobLink(job.id) },
          { head: 'Helper', priority: 2, cell: ({ service }) => service },
          { head: 'State', cell: ({ state }) => <State state={state} /> },
          { head: 'Progress', cell: (job) => <Progress job={job} /> },
          { head: 'Failed', number: true, priority: 2, cell: ({ failed }) => formatCount(failed) },
          { head: 'Made', priority: 3, cell: ({ created_at }) => <Moment at={created_at} /> },
        ]}
      />
      <Pager previous={previous} next={next} />
    </Page>
  );
}

async function cancelJob({ site, tenant, params }: TenantCall) {
  const { id } = await site.jobs.cancel(tenant.id, params.job ?? '');
  return { redirect: `/tenants/${tenant.name}/jobs/${id}` };
}

async function jobPage({ site, tenant, params, query }: TenantCall) {
  const id = params.job ?? '';
  const after = readIndex(query.get('after'));
  const job = await site.jobs.job(tenant.id, id);
  const { done, failed, cancelled } = job;
  const page = { limit: itemsShown, ...(after === undefined ? {} : { after }) };
  const { items, next } = await site.jobs.items(tenant.id, id, page);
  const base = `/tenants/${tenant.name}/jobs/${job.id}`;
  return (
    <Page tenant={tenant.name} title={`Job ${job.id}`}>
      <h2>
        Job <code>{job.id}</code>
      </h2>
      <RefreshLink jobs={[job]} href={after === undefined ? base : `${base}?after=${after}`} />
      <Facts
        facts={{
          Helper: job.service,
          State: <State state={job.state} />,
          Progress: <Progress job={job} />,
          Items: `${formatCount(done)} done, ${formatCount(failed)} failed, ${formatCount(cancelled)} cancelled`,
          Made: <Moment at={job.created_at} />,
          Ended: <Moment at={job.finished_at} />,
          'Results until': job.expires_at !== null && <Moment at={job.expires_at} />,
        }}
      />
      {job.finished_at === null && (
        <Form action={`${base}/cancel`} class="inline">
          <button type="submit" class="quiet-button">
            Cancel what waits
          </button>
        </Form>
      )}
      <h3>Items</h3>
      <Table
        label={`Items of job ${job.id}`}
        rows={items}
        columns={[
          { head: 'Item', number: true, cell: ({ index }) => index },
          { head: 'State', cell: ({ state }) => <State state={state} /> },
          { head: 'What it came to', class: 'wraps', cell: (item) => <Outcome item={item} /> },
        ]}
      />
      <Pager next={next === null ? null : String(next)} />
    </Page>
  );
}

/** Anything that no page of this site leads to means the first page. */
function readIndex(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

function Outcome({ item: { error, result } }: { item: ItemView }) {
  if (result) return <>{`${result.type}, ${formatBytes(result.bytes)}`}</>;
  if (!error) return <span class="quiet">–</span>;
  const problems = error.details?.map(({ field, problem }) => `${field} ${problem}`).join('; ');
  return (
    <>
      <code>{error.code}</code> {problems ?? error.message}
    </>
  );
}

/** How far a job is: what went well, what failed and what was cancelled, each in its colour. */
function Progress({ job: { done, failed, cancelled, total } }: { job: JobView }) {
  const text = `${formatCount(done + failed + cancelled)} of ${formatCount(total)}`;
  const parts = [
    [done, 'good'],
    [failed, 'bad'],
    [cancelled, 'quiet'],
  ] as const;
  return <PartsBar parts={parts} of={total} text={text} />;
}

/** Has the script refresh the page while a job runs; without the script there is a link. */
function RefreshLink(props: { jobs: readonly Pick<JobView, 'finished_at'>[]; href: string }) {
  if (props.jobs.every(({ finished_at }) => finished_at !== null)) return null;
  return (
    <p class="quiet" data-look-again="3000">
      <a href={props.href}>Look again</a>
      <span hidden> – this page does so every 3 seconds while jobs run</span>
    </p>
  );
}
