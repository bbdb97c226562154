import { randomUUID } from 'node:crypto';
import type { Answer } from '../pool/answer.js';
import { LoadError } from '../pool/load-faults.js';
import type { Pool } from '../pool/pool.js';
import type { RawInput } from '../schemas/input/validate-input.js';
import { GatewayError, toGatewayError } from './errors.js';
import type { Meta } from './http/envelope.js';
import { noKeyLimits, noLimits } from './keys/model.js';
import type { EffectiveLimits } from './limits/limiter.js';
import { createPipelines, type GivenCall } from './pipeline/pipelines.js';
import { type BodyInput, noUploads, requireSize } from './pipeline/read-input.js';
import { type PreviewRequest, withPreview } from './pipeline/run-helper.js';
import { CallState } from './pipeline/stage.js';
import { type Helper, PluginError, type Registry } from './plugins/registry.js';
import type { Runtime } from './runtime.js';

/** A call's input: texts, which are read as in a query, or the text of a JSON object; and files. */
export interface GivenInput extends Partial<Pick<RawInput, 'query' | 'body'>> {
  uploads?: BodyInput['uploads'];
  /** Where its answer is shown to a model, and not only saved. */
  shown?: PreviewRequest;
}

/** A call's answer or error, with the envelope's `meta`. */
export type Reply = { meta: Meta } & (
  | { ok: true; answer: Answer; ms: number }
  | { ok: false; error: GatewayError }
);

interface LocalParts extends Pick<Runtime, 'files' | 'imageLimits' | 'bodyLimits' | 'inline'> {
  registry: Registry;
  pool: Pick<Pool, 'ticket'>;
  close(): Promise<void>;
}

/** Helpers that are called in this process. */
export type LocalHelpers = ReturnType<typeof createLocalHelpers>;

const unlimited: EffectiveLimits = {
  rate: 0,
  burst: 0,
  monthlyQuota: null,
  inFlight: null,
  monthlyCpuMs: null,
};

/** The user of this process is its only tenant. */
export const localCaller: GivenCall['caller'] = {
  tenant: { id: 'local', name: 'local', weight: 1, limits: noLimits },
  keyId: 'local',
  keyLimits: noKeyLimits,
  scopes: null,
};

/** The caller is the operator here, and gets the reasons that would stop a start. */
function toLocalError(error: unknown): GatewayError {
  if (!(error instanceof PluginError || error instanceof LoadError)) return toGatewayError(error);
  return new GatewayError('internal', { message: error.message, cause: error });
}

/** The helpers' stages without those against strangers: no key, no limits, no log. */
export function createLocalHelpers({
  registry,
  pool,
  files,
  imageLimits,
  bodyLimits,
  inline,
  close,
}: LocalParts) {
  const pipelineOf = createPipelines<GivenCall>(
    { pool, files, imageLimits, inline },
    {
      limit: () => (_, next) => next({ limits: unlimited }),
      read: () => requireSize(bodyLimits),
      deliver: withPreview,
    },
  );

  return {
    registry,
    /** Calls a helper as HTTP would, with the same answer and the same errors; never throws. `signal` aborts it. */
    async call(helper: Helper, input: GivenInput, signal?: AbortSignal): Promise<Reply> {
      const { query, body, uploads = noUploads, shown } = input;
      const state = new CallState(randomUUID(), signal && AbortSignal.any([signal]));
      const meta = () => {
        const { dryrun, requestId, cost } = state;
        return { service: helper.id, dryrun, request_id: requestId, ...(cost && { cost }) };
      };
      const given = { query: query ?? { values: new Map(), problems: [] }, text: body, uploads, shown };
      try {
        await inline.helpers.prepare(helper);
        const answer = await pipelineOf(helper)({ state, bodyBytes: 0, caller: localCaller, ...given });
        return { ok: true, answer, ms: state.taskMs, meta: meta() };
      } catch (error) {
        return { ok: false, error: toLocalError(error), meta: meta() };
      }
    },
    close,
  };
}
