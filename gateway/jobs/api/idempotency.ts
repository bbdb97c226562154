import { createHash } from 'node:crypto';
import type { FieldProblem } from '../../../schemas/field-problem.js';
import type { JobRequest } from '../jobs.js';
import type { Breathe } from './breaths.js';

/** The header by which a client names its request, so that it may send it again and have one job. */
export const idempotencyHeader = 'Idempotency-Key';

const form = /^[\x21-\x7e]{1,255}$/;
/** Bytes that are taken without looking at the time. */
const stretch = 1024 * 1024;

/** The key of a request; undefined where it has none. */
export function readIdempotencyKey(
  header: string | undefined,
  tell: (problem: FieldProblem) => void,
): string | undefined {
  if (header === undefined || form.test(header)) return header;
  tell({ field: idempotencyHeader, problem: 'must be 1 to 255 visible ASCII characters, given once' });
  return undefined;
}

type Digested = Pick<JobRequest, 'service' | 'webhookUrl' | 'inputs' | 'files' | 'sharedFiles'>;

/**
 * What tells a request from others: all that the job will be made of, as it was written, and not how it was sent. So the same form
 * with another boundary is the same request, and by whichever of the tenant's keys.
 */
export async function digestOf(request: Digested, breathe: Breathe): Promise<string> {
  const hash = createHash('sha256');
  const add = async (bytes: Uint8Array) => {
    // Each with its length before it: else what ends one could begin the next.
    hash.update(`${bytes.byteLength}:`);
    for (let at = 0; at < bytes.byteLength; at += stretch) {
      hash.update(bytes.subarray(at, at + stretch));
      await breathe();
    }
  };
  const say = (value: unknown) => add(Buffer.from(JSON.stringify(value)));
  await say([request.service, request.webhookUrl ?? null, request.inputs.length]);
  for (const bytes of request.sharedFiles.values()) await add(bytes);
  // Forms share one list of fields, which is said once.
  let fields: unknown;
  for (const [index, input] of request.inputs.entries()) {
    await say([input.json ?? null, input.fields === fields ? null : input.fields, input.files]);
    fields = input.fields;
    for (const bytes of request.files[index]?.values() ?? []) await add(bytes);
    await breathe();
  }
  return hash.digest('base64url');
}
