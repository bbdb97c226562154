import { randomUUID } from 'node:crypto';
import type { Answer } from '../../pool/answer.js';
import { LoadError } from '../../pool/load-error.js';
import type { Pool } from '../../pool/pool.js';
import { GatewayError } from '../errors.js';
import { PluginError } from '../helpers/plugin-error.js';
import type { Helper, Registry } from '../helpers/registry.js';
import { Ending } from '../http/ending.js';
import type { Meta } from '../http/envelope.js';
import { toGatewayError } from '../http/read-error.js';
import { admit } from '../pipeline/admit.js';
import { fetchSource } from '../pipeline/fetch-source.js';
import type { GivenCall } from '../pipeline/given-call.js';
import { noUploads } from '../pipeline/read-input.js';
import { runHelper } from '../pipeline/run-helper.js';
import { from } from '../pipeline/stage.js';
import { newCallState } from '../pipeline/state.js';
import { validate } from '../pipeline/validate.js';
import { type Shown, withPreview } from '../pipeline/with-preview.js';
import { checkSize, type GivenInput } from './given-input.js';
import type { Work } from './work.js';

/** A call's answer or its error, and what the envelope says of it. */
export type Reply = { meta: Meta } & (
  | { ok: true; answer: Answer; ms: number }
  | { ok: false; error: GatewayError }
);

/** What they are made of. */
export interface LocalParts extends Pick<Work, 'files' | 'imageLimits' | 'bodyLimits' | 'inline'> {
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
    return from<GivenCall & { shown?: Shown | undefined }>()
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
