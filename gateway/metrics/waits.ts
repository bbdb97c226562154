import type { Pool } from '../../pool/pool.js';
import type { Arrivals } from '../http/flow/arrivals.js';
import { type Meters, secondsOfACall } from './meters.js';
import { classOf } from './weight-class.js';

/** Measures what calls wait for: a thread, and their own bytes. */
export function meterWaits(
  { histogram }: Meters,
  { pool, arrivals }: { pool: Pick<Pool, 'watch'>; arrivals: Pick<Arrivals, 'watch'> },
): void {
  const queued = histogram(
    {
      name: 'queue_wait_seconds',
      help: 'Time that tasks waited for a worker thread, by what they are of (direct calls or items of jobs) and by the class of the tenant.',
      labels: ['work', 'class'],
    },
    secondsOfACall,
  );
  // One object a pair: what is observed is then found without making any.
  const direct = labelsOf('direct');
  const ofJobs = labelsOf('job');
  pool.watch((waitMs, { weight, behind }) => {
    queued.observe((behind ? ofJobs : direct)[classOf(weight)], waitMs / 1000);
  });

  const arrived = histogram(
    {
      name: 'arriving_seconds',
      help: 'Time that bodies and downloads were on their way, those included that were given up.',
      labels: ['kind'],
    },
    secondsOfACall,
  );
  const kinds = { request_timeout: { kind: 'body' }, source_timeout: { kind: 'download' } };
  arrivals.watch((slow, ms) => arrived.observe(kinds[slow], ms / 1000));
}

function labelsOf(work: string) {
  return {
    w1: { work, class: 'w1' },
    'w2-9': { work, class: 'w2-9' },
    'w10+': { work, class: 'w10+' },
  };
}
