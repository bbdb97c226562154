import type { JobView } from '../../jobs/jobs.js';
import type { ItemState } from '../../jobs/model.js';
import { count } from './elements.js';

/** How the states of jobs and items look; each is told by its word. */
const looks: Record<ItemState, string> = {
  waiting: 'waiting',
  running: 'waiting',
  done: 'active',
  failed: 'revoked',
  cancelled: 'expired',
};

export function JobState({ state }: { state: ItemState }) {
  return <span class={`state ${looks[state]}`}>{state}</span>;
}

/** How far a job is: a bar, and the numbers beside it. */
export function Progress({ job }: { job: JobView }) {
  const ended = job.done + job.failed + job.cancelled;
  const text = `${count(ended)} of ${count(job.total)}`;
  return (
    <span class="job-progress">
      <progress max={job.total} value={ended} aria-label={`${text} items have ended`} />
      {text}
    </span>
  );
}

/** Has the script look again while something goes on; without it there is a link. */
export function LookAgain(props: { jobs: readonly Pick<JobView, 'finished_at'>[]; href: string }) {
  if (props.jobs.every(({ finished_at }) => finished_at !== null)) return null;
  return (
    <p class="quiet" data-look-again="3000">
      <a href={props.href}>Look again</a>
      <span hidden> – this page does so every 3 seconds while jobs run</span>
    </p>
  );
}
