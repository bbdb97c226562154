import type { ItemView, JobView } from '../../jobs/jobs.js';
import { type OfTenant, tenant } from '../doors.js';
import type { PageAnswer, PageRequest, Redirect } from '../page.js';
import { get, type PageRoute, post } from '../route.js';
import { bytes, count, Moment, Next, Table } from './elements.js';
import { Form } from './form.js';
import { JobState, LookAgain, Progress } from './job-elements.js';
import { TenantFrame } from './tenant-frame.js';

const itemsShown = 100;

/** One job: how far it is, what became of its items, and the way to call it off. */
export const jobPages: PageRoute[] = [
  get(tenant, '/tenants/:tenant/jobs/:job', jobPage),
  post(tenant, '/tenants/:tenant/jobs/:job/cancel', cancel),
];

type JobCall = PageRequest & OfTenant;

async function cancel({ site, tenant, params }: JobCall): Promise<Redirect> {
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
        <LookAgain jobs={[job]} href={after === undefined ? base : `${base}?after=${after}`} />
        <Facts job={job} />
        {job.finished_at === null && (
          <Form action={`${base}/cancel`} class="inline">
            <button type="submit" class="quiet-button">
              Cancel what waits
            </button>
          </Form>
        )}
        <h3>Items</h3>
        <Items items={items} of={job.id} />
        <Next href={next === null ? null : `${base}?after=${next}`} />
      </TenantFrame>
    ),
  };
}

/** What no page of this site leads to is the beginning. */
function readIndex(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

function Facts({ job }: { job: JobView }) {
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
        {count(job.done)} done, {count(job.failed)} failed, {count(job.cancelled)} cancelled
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

function Items({ items, of }: { items: readonly ItemView[]; of: string }) {
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
            {result && `${result.type}, ${bytes(result.bytes)}`}
            {!error && !result && <span class="quiet">–</span>}
          </td>
        </tr>
      ))}
    </Table>
  );
}
