import type { ItemView, JobView } from '../../jobs/jobs.js';
import type { ItemState } from '../../jobs/model.js';
import {
  forTenant,
  getRoute,
  type PageAnswer,
  type PageRequest,
  type PageRoute,
  postRoute,
  type Redirect,
  type WithTenant,
} from '../page.js';
import { TenantFrame } from './document.js';
import { Empty, Form, formatBytes, formatCount, Moment, NextPage, Table } from './elements.js';

const jobsShown = 50;

/** A tenant's jobs, with how far they are. */
export const jobsPages: PageRoute[] = [getRoute(forTenant, '/tenants/:tenant/jobs', jobsPage)];

async function jobsPage(call: PageRequest & WithTenant): Promise<PageAnswer> {
  const { site, query } = call;
  const { id, name } = call.tenant;
  const after = query.get('after');
  const { jobs, next } = await site.jobs.list(id, {
    limit: jobsShown,
    ...(after === undefined ? {} : { after }),
  });
  return {
    title: `Jobs of ${name}`,
    body: (
      <TenantFrame name={name}>
        <h2>Jobs</h2>
        {jobs.length === 0 ? (
          <Empty title="No jobs">
            <p>
              A job is many inputs of one helper in one request, worked on when there is time: send them to{' '}
              <code>POST {site.apiUrl}/jobs</code>. It is listed here until its results are forgotten.
            </p>
          </Empty>
        ) : (
          <>
            <RefreshLink jobs={jobs} href={`/tenants/${name}/jobs`} />
            <JobTable tenant={name} jobs={jobs} />
          </>
        )}
        <NextPage href={next && `/tenants/${name}/jobs?after=${encodeURIComponent(next)}`} />
      </TenantFrame>
    ),
  };
}

function JobTable({ tenant, jobs }: { tenant: string; jobs: readonly JobView[] }) {
  return (
    <Table
      label={`Jobs of ${tenant}, the newest first`}
      head={
        <>
          <th scope="col">Job</th>
          <th scope="col">Helper</th>
          <th scope="col">State</th>
          <th scope="col">Progress</th>
          <th scope="col" class="number">
            Failed
          </th>
          <th scope="col">Made</th>
        </>
      }
    >
      {jobs.map((job) => (
        <tr key={job.id}>
          <td>
            <a href={`/tenants/${tenant}/jobs/${job.id}`}>
              <code>{job.id}</code>
            </a>
          </td>
          <td>{job.service}</td>
          <td>
            <JobState state={job.state} />
          </td>
          <td>
            <Progress job={job} />
          </td>
          <td class="number">{formatCount(job.failed)}</td>
          <td>
            <Moment at={job.created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

const itemsShown = 100;

/** One job: how far it is, what became of its items, and the way to call it off. */
export const jobPages: PageRoute[] = [
  getRoute(forTenant, '/tenants/:tenant/jobs/:job', jobPage),
  postRoute(forTenant, '/tenants/:tenant/jobs/:job/cancel', cancelJob),
];

type JobCall = PageRequest & WithTenant;

async function cancelJob({ site, tenant, params }: JobCall): Promise<Redirect> {
  const { id } = await site.jobs.cancel(tenant.id, params.job ?? '');
  return { redirect: `/tenants/${tenant.name}/jobs/${id}` };
}

async function jobPage({ site, tenant, params, query }: JobCall): Promise<PageAnswer> {
  const id = params.job ?? '';
  const after = readIndex(query.get('after'));
  const job = await site.jobs.job(tenant.id, id);
  const { items, next } = await site.jobs.items(tenant.id, id, {
    limit: itemsShown,
    ...(after === undefined ? {} : { after }),
  });
  const base = `/tenants/${tenant.name}/jobs/${job.id}`;
  return {
    title: `Job ${job.id}`,
    body: (
      <TenantFrame name={tenant.name}>
        <h2>
          Job <code>{job.id}</code>
        </h2>
        <RefreshLink jobs={[job]} href={after === undefined ? base : `${base}?after=${after}`} />
        <JobFacts job={job} />
        {job.finished_at === null && (
          <Form action={`${base}/cancel`} class="inline">
            <button type="submit" class="quiet-button">
              Cancel what waits
            </button>
          </Form>
        )}
        <h3>Items</h3>
        <JobItems items={items} of={job.id} />
        <NextPage href={next === null ? null : `${base}?after=${next}`} />
      </TenantFrame>
    ),
  };
}

/** What no page of this site leads to is the beginning. */
function readIndex(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

function JobFacts({ job }: { job: JobView }) {
  return (
    <dl class="facts">
      <dt>Helper</dt>
      <dd>{job.service}</dd>
      <dt>State</dt>
      <dd>
        <JobState state={job.state} />
      </dd>
      <dt>Progress</dt>
      <dd>
        <Progress job={job} />
      </dd>
      <dt>Items</dt>
      <dd>
        {formatCount(job.done)} done, {formatCount(job.failed)} failed, {formatCount(job.cancelled)} cancelled
      </dd>
      <dt>Made</dt>
      <dd>
        <Moment at={job.created_at} />
      </dd>
      <dt>Ended</dt>
      <dd>
        <Moment at={job.finished_at} />
      </dd>
      {job.expires_at !== null && (
        <>
          <dt>Results until</dt>
          <dd>
            <Moment at={job.expires_at} />
          </dd>
        </>
      )}
    </dl>
  );
}

function JobItems({ items, of }: { items: readonly ItemView[]; of: string }) {
  return (
    <Table
      label={`Items of job ${of}`}
      head={
        <>
          <th scope="col" class="number">
            Item
          </th>
          <th scope="col">State</th>
          <th scope="col">What it came to</th>
        </>
      }
    >
      {items.map(({ index, state, error, result }) => (
        <tr key={index}>
          <td class="number">{index}</td>
          <td>
            <JobState state={state} />
          </td>
          <td class="wraps">
            {error && (
              <>
                <code>{error.code}</code>{' '}
                {error.details
                  ? error.details.map(({ field, problem }) => `${field} ${problem}`).join('; ')
                  : error.message}
              </>
            )}
            {result && `${result.type}, ${formatBytes(result.bytes)}`}
            {!error && !result && <span class="quiet">–</span>}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** How the states of jobs and items look; each is told by its word. */
const stateClasses: Record<ItemState, string> = {
  waiting: 'waiting',
  running: 'waiting',
  done: 'active',
  failed: 'revoked',
  cancelled: 'expired',
};

function JobState({ state }: { state: ItemState }) {
  return <span class={`state ${stateClasses[state]}`}>{state}</span>;
}

/** How far a job is: a bar, and the numbers beside it. */
function Progress({ job }: { job: JobView }) {
  const ended = job.done + job.failed + job.cancelled;
  const text = `${formatCount(ended)} of ${formatCount(job.total)}`;
  return (
    <span class="job-progress">
      <progress max={job.total} value={ended} aria-label={`${text} items have ended`} />
      {text}
    </span>
  );
}

/** Has the script look again while something goes on; without it there is a link. */
function RefreshLink(props: { jobs: readonly Pick<JobView, 'finished_at'>[]; href: string }) {
  if (props.jobs.every(({ finished_at }) => finished_at !== null)) return null;
  return (
    <p class="quiet" data-look-again="3000">
      <a href={props.href}>Look again</a>
      <span hidden> – this page does so every 3 seconds while jobs run</span>
    </p>
  );
}
