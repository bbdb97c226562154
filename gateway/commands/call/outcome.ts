import { type Answer, jsonText } from '../../../pool/answer.js';
import type { GatewayError } from '../../errors.js';
import { toGatewayError } from '../../http/read-error.js';
import type { Reply } from '../../local/local-helpers.js';
import { writeResult } from './deliver.js';
import type { Job } from './jobs.js';
import type { ResultPlaces } from './result-places.js';

/** How one call ended. */
export type Outcome = Pick<Reply, 'meta'> & { file?: string | undefined } & (
    | { ok: true; result: Result }
    | { ok: false; error: GatewayError }
  );

/** What came of it: data, bytes that are still to go to standard output, or a file that was written. */
export type Result = { data: unknown } | { bytes: Uint8Array; type: string } | Written;

export interface Written {
  out: string;
  type: string;
  size: number;
}

export interface CallOptions {
  service: string;
  /** Makes the call. Throws what cannot be sent. */
  call(job: Job): Promise<Reply>;
  /** The option that says where results go. */
  option: 'out' | 'out-dir';
  places: Pick<ResultPlaces, 'pathFor'>;
}

/** Makes one call and writes what comes of it where that is to go. Never throws. */
export async function makeCall(job: Job, { service, call, option, places }: CallOptions): Promise<Outcome> {
  const { file } = job;
  let meta: Outcome['meta'] = { service, dryrun: false, request_id: '' };
  try {
    const reply = await call(job);
    meta = reply.meta;
    if (!reply.ok) return { file, ...reply };
    return { file, meta, ok: true, result: await deliver(reply.answer) };
  } catch (error) {
    return { file, meta, ok: false, error: toGatewayError(error) };
  }

  async function deliver(answer: Answer): Promise<Result> {
    const { type, bytes } =
      answer.kind === 'bytes' ? answer : { type: 'application/json', bytes: jsonText(answer) };
    const path = await places.pathFor(job, type);
    if (path === undefined)
      return answer.kind === 'bytes' ? { bytes: answer.bytes, type } : { data: JSON.parse(String(bytes)) };
    await writeResult(path, bytes, { option });
    return { out: path, type, size: bytes.length };
  }
}
