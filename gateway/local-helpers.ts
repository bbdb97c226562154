import { randomUUID } from 'node:crypto';
import type { Answer } from '../pool/answer.js';
import { LoadError } from '../pool/load-faults.js';
import type { Pool } from '../pool/pool.js';
import type { BodyText, RawInput } from '../schemas/input/validate-input.js';
import { GatewayError, toGatewayError } from './errors.js';
import { bodyTooLarge } from './http/body.js';
import { Ending } from './http/ending.js';
import type { Meta } from './http/envelope.js';
import { type MultipartLimits, uploadTooLarge } from './http/multipart.js';
import { admit } from './pipeline/admit.js';
import { fetchSource } from './pipeline/fetch-source.js';
import { type BodyInput, type GivenCall, noUploads } from './pipeline/read-input.js';
import { type PreviewRequest, runHelper, withPreview } from './pipeline/run-helper.js';
import { from, newCallState } from './pipeline/stage.js';
import { validate } from './pipeline/validate.js';
import { type Helper, PluginError, type Registry } from './plugins/registry.js';
import type { Runtime } from './runtime.js';

/** What a call brings: texts, which are read as a query's are, or the text of a JSON object; and files. */
export interface GivenInput extends Partial<Pick<RawInput, 'query' | 'body'>> {
  uploads?: BodyInput['uploads'];
  /** Where its answer is to be shown and not only kept. */
  shown?: PreviewRequest;
}

/** Throws what HTTP answers to a body of this size: `too_large`. */
export function checkSize({ query, body, uploads }: GivenInput, limits: MultipartLimits): void {
  const texts = [...(query?.values.values() ?? [])].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (texts + bytesOf(body) > limits.maxTextBytes) throw bodyTooLarge(limits.maxTextBytes);
  const files = [...(uploads?.values() ?? [])].reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  if (files > limits.maxFileBytes) throw uploadTooLarge(limits);
}

function bytesOf(body: BodyText | undefined): number {
  if (body === undefined) return 0;
  if (body.kind !== 'fields') return body.bytes.byteLength;
  return [...body.fields.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** A call's answer or its error, and what the envelope says of it. */
export type Reply = { meta: Meta } & (
  | { ok: true; answer: Answer; ms: number }
  | { ok: false; error: GatewayError }
);

/** What they are made of. */
interface LocalParts extends Pick<Runtime, 'files' | 'imageLimits' | 'bodyLimits' | 'inline'> {
  registry: Registry;
  pool: Pick<Pool, 'turn'>;
  close(): Promise<void>;
}

/** Helpers that are called in this process. */
export interface LocalHelpers {
  registry: Registry;
  /** Calls a helper as HTTP would, with the same answer and the same errors; never throws. `signal` gives it up. */
  call(helper: Helper, given: GivenInput, signal?: AbortSignal): Promise<Reply>;
  close(): Promise<void>;
}

const unlimited: GivenCall['limits'] = { rate: 0, burst: 0, monthlyQuota: null, inFlight: null };

/** Whoever runs the process is the one tenant. */
const caller: GivenCall['caller'] = {
  tenant: {
    id: 'local',
    name: 'local',
    weight: 1,
    limits: { rate: null, burst: null, monthly_quota: null, in_flight: null },
  },
  keyId: 'local',
  scopes: null,
};

/** What a start would stop at is told: whoever calls here is the operator. */
function toLocalError(error: unknown): GatewayError {
  if (!(error instanceof PluginError || error instanceof LoadError)) return toGatewayError(error);
  return new GatewayError('internal', { message: error.message, cause: error });
}

/** The helpers' stages without those that stand between strangers and the machine: no key, no limits, no log. */
export function createLocalHelpers({
  registry,
  pool,
  files,
  imageLimits,
  bodyLimits,
  inline,
  close,
}: LocalParts): LocalHelpers {
  const ways = new Map<Helper, ReturnType<typeof wayOf>>();

  function wayOf(helper: Helper) {
    return from<GivenCall & { shown?: PreviewRequest | undefined }>()
      .through(admit(helper, pool))
      .through(validate(helper))
      .through(fetchSource(helper, files, imageLimits))
      .to(withPreview(runHelper(helper, inline)));
  }

  return {
    registry,
    async call(helper, { query, body, uploads = noUploads, shown }, signal) {
      const gone = new Ending();
      const state = newCallState(randomUUID(), gone);
      const giveUp = () => gone.end();
      if (signal?.aborted) giveUp();
      signal?.addEventListener('abort', giveUp, { once: true });
      const meta = () => ({ service: helper.id, dryrun: state.dryrun, request_id: state.requestId });
      const way = ways.get(helper) ?? wayOf(helper);
      ways.set(helper, way);
      const given = { query: query ?? { values: new Map(), problems: [] }, text: body, uploads, shown };
      try {
        checkSize({ query, body, uploads }, bodyLimits);
        await inline.helpers.prepare(helper);
        const answer = await way({ state, bodyBytes: 0, caller, limits: unlimited, ...given });
        return { ok: true, answer, ms: state.taskMs, meta: meta() };
      } catch (error) {
        return { ok: false, error: toLocalError(error), meta: meta() };
      } finally {
        signal?.removeEventListener('abort', giveUp);
      }
    },
    close,
  };
}
