import type { Answer } from '../../../pool/answer.js';
import { GatewayError } from '../../errors.js';
import { readBytes } from '../../http/body/bytes-body.js';
import { meter, type Watch } from '../../http/body/meter.js';
import { readParts } from '../../http/body/multipart.js';
import { bodyTooLarge, requirePlain } from '../../http/body/text-body.js';
import type { Arrivals } from '../../http/flow/arrivals.js';
import { receive } from '../../pipeline/receive.js';
import type { HttpCall, Stage } from '../../pipeline/stage.js';
import type { CallContext, Caller } from '../../pipeline/state.js';
import type { Asked } from './asked.js';
import { type Breathe, createBreathe } from './breaths.js';
import { createJobParts, type JobForm, type JobPartLimits } from './job-parts.js';
import { readJobForm } from './read-form.js';
import { readJobJson } from './read-json.js';

const json = 'application/json';
const multipart = 'multipart/form-data';
const wanted = { message: 'Send application/json or multipart/form-data, not compressed.' };

/** What is asked for, and what lets others go on while it is worked at. */
export interface RequestFound {
  asked: Asked;
  breathe: Breathe;
}

/** Reads the body that asks for a job. Its bytes are held against the tenant until the job has been made. */
export function readRequest(
  arrivals: Arrivals,
  limits: JobPartLimits,
): Stage<HttpCall & { caller: Caller }, RequestFound> {
  const { maxJobBytes } = limits;

  return function readRequest(call, next): Promise<Answer> {
    const { ctx, bodyBytes } = call;
    requirePlain(ctx, wanted);
    const type = bodyBytes === 0 ? json : ctx.is(json, multipart);
    if (!type) throw new GatewayError('unsupported_media_type', wanted);
    if (Number.isFinite(bodyBytes) && bodyBytes > maxJobBytes) throw bodyTooLarge(maxJobBytes);
    const breathe = createBreathe();
    return receive(call, arrivals, {
      read: (watch): Promise<Buffer | JobForm> =>
        type === json ? readText(call, watch) : readFiles(ctx, watch),
      use: async (read) => {
        const asked = 'fields' in read ? readJobForm(read) : await readJobJson(read, limits, breathe);
        return next({ asked, breathe });
      },
    });
  };

  async function readText({ ctx, bodyBytes }: HttpCall, watch: Watch): Promise<Buffer> {
    if (bodyBytes === 0) return Buffer.alloc(0);
    const reading = readBytes(ctx.req, { maxBytes: maxJobBytes, signal: watch.ending.signal });
    return Buffer.from((await meter(ctx.req, reading, watch)).buffer);
  }

  function readFiles(ctx: CallContext, watch: Watch): Promise<JobForm> {
    const gather = () => createJobParts(limits);
    const reading = readParts(ctx.req, ctx.get('content-type'), { gather, signal: watch.ending.signal });
    return meter(ctx.req, reading, watch);
  }
}
