import { createJobId } from '../../../gateway/jobs/model.js';
import { encodeBase62 } from '../../../gateway/keys/model.js';
import type { Row } from './bulk.js';
import type { Draw } from './draw.js';
import { dayMs, type SeedTenant } from './tenants.js';

const errors = [
  { code: 'source_timeout', message: 'The server behind the url did not deliver in time.' },
  { code: 'bad_image', message: 'The source is not an image that can be decoded.' },
  {
    ...{ code: 'invalid_input', message: 'The input is not valid; see details.' },
    details: [{ field: 'width', problem: 'must be a whole number of pixels, but is the string "abc"' }],
  },
];

/** Jobs of the last day, all of which have ended: nothing works on them. */
export function drawJobs(draw: Draw, tenants: readonly SeedTenant[], now: number) {
  const jobs: Row[] = [];
  const items: Row[] = [];
  const held: Row[] = [];
  for (const [rank, { row, keys }] of tenants.entries()) {
    const key = keys[0]?.row;
    if (!key || (rank > 2 && !draw.chance(0.35))) continue;
    let result_bytes = 0;
    for (let count = draw.whole(1, rank < 3 ? 80 : 5); count > 0; count -= 1) {
      const created_at = Math.round(now - draw.share() * 0.95 * dayMs);
      const job = drawJob(draw, { tenant_id: row.id, key_id: key.id, created_at });
      const total = draw.chance(0.03) ? 1_000 : draw.whole(1, 60);
      const fate = draw.share();
      const own = Array.from({ length: total }, (_, idx) => drawItem(draw, { job_id: job.id, idx }, fate));
      const ended = (state: string) => own.filter((item) => item.state === state).length;
      const [done, failed, cancelled] = [ended('done'), ended('failed'), ended('cancelled')];
      const bytes = done * resultBytes;
      const finished_at = Math.min(now, created_at + total * 200);
      jobs.push({
        ...{ ...job, finished_at, moved_at: finished_at, cancelled_at: cancelled > 0 ? finished_at : null },
        ...{ total, unqueued: 0, started: done + failed, running: 0, done, failed, cancelled },
        result_bytes: bytes,
      });
      items.push(...own);
      result_bytes += bytes;
    }
    held.push({ tenant_id: row.id, result_bytes });
  }
  return { jobs, items, held };
}

const resultBytes = 84_000;

function drawJob(draw: Draw, named: { tenant_id: string; key_id: string; created_at: number }) {
  const prefix = createJobId(named.created_at).slice(0, 12);
  return {
    ...{ id: `${prefix}${encodeBase62(draw.whole(0, 2 ** 31), 14)}`, ...named },
    service: draw.one(['media/resize', 'media/convert', 'media/add-watermark']),
    webhook_url: null,
    ...{ bytes: 0, files: 0 },
  };
}

function drawItem(draw: Draw, named: { job_id: string; idx: number }, fate: number): Row {
  const item = { ...named, queued: 1, attempts: 1, input: '' };
  if (fate < 0.08 && named.idx > 3) return { ...item, state: 'cancelled', ended: '{}' };
  if (draw.chance(fate > 0.94 ? 1 : 0.03)) {
    return { ...item, state: 'failed', ended: JSON.stringify({ error: draw.one(errors) }) };
  }
  const result = { kind: 'bytes', type: 'image/webp', bytes: resultBytes, dryrun: false };
  return { ...item, state: 'done', ended: JSON.stringify({ result }) };
}
