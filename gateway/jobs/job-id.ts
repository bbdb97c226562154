import { encodeBase62, randomBase62 } from '../keys/base62.js';

/**
 * A new job's id: `job_`, when it was made in 8 digits of base62 (enough until the year 8889), and 83 random bits in 14. As text ids
 * sort by time, so that the newest jobs are found by them alone.
 */
export function createJobId(now = Date.now()): string {
  return `job_${encodeBase62(now, 8)}${randomBase62(14)}`;
}

/** Whether this is the id of a job that was made before that time, in ms since 1970. */
export function isJobBefore(id: string, time: number): boolean {
  return /^job_[0-9A-Za-z]{22}$/.test(id) && id.slice(4, 12) < encodeBase62(time, 8);
}
