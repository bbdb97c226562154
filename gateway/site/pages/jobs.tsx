import type { JobView } from '../../jobs/jobs.js';
import { type OfTenant, tenant } from '../doors.js';
import type { PageAnswer, PageRequest } from '../page.js';
import { get, type PageRoute } from '../route.js';
import { count, Empty, Moment, Next, Table } from './elements.js';
import { JobState, LookAgain, Progress } from './job-elements.js';
import { TenantFrame } from './tenant-frame.js';

const jobsShown = 50;

/** A tenant's jobs, with how far they are. */
export const jobsPages: PageRoute[] = [get(tenant, '/tenants/:tenant/jobs', jobsPage)];

async function jobsPage(call: PageRequest & OfTenant): Promise<PageAnswer> {
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
            <LookAgain jobs={jobs} href={`/tenants/${name}/jobs`} />
            <JobTable tenant={name} jobs={jobs} />
          </>
        )}
        <Next href={next && `/tenants/${name}/jobs?after=${encodeURIComponent(next)}`} />
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
          <td class="number">{count(job.failed)}</td>
          <td>
            <Moment at={job.created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
