import type { Answer } from '../../pool/answer.js';
import type { ImageLimits } from '../../pool/image/engine.js';
import type { Pool } from '../../pool/pool.js';
import type { QueryText } from '../../schemas/input/parse.js';
import type { SourceFiles } from '../download/source-files.js';
import type { EffectiveLimits } from '../limits/limiter.js';
import type { Tracing } from '../observability/tracing.js';
import type { Helper } from '../plugins/registry.js';
import { type AdmitOptions, admit } from './admit.js';
import { fetchSource } from './fetch-source.js';
import type { BodyInput } from './read-input.js';
import { type CompleteCall, type ReuseParts, reuse } from './reuse.js';
import { type PreviewRequest, type RunOptions, runHelper } from './run-helper.js';
import { type Call, type Caller, from, type LastStage, type Stage, traceLast } from './stage.js';
import { validate } from './validate.js';

export interface PipelineParts {
  pool: Pick<Pool, 'ticket'>;
  files: SourceFiles;
  imageLimits: ImageLimits;
  inline: RunOptions;
  reuse?: ReuseParts;
  tracing?: Tracing | undefined;
}

/** The caller, and the query without its credentials. */
export interface Identified {
  caller: Caller;
  query: QueryText;
}

/** A call with all that HTTP would have to bring, none of it checked yet. */
export interface GivenCall extends Call, Identified, BodyInput {
  readonly shown?: PreviewRequest | undefined;
}

type Limited = Identified & { limits: EffectiveLimits };

/** How calls of one kind begin, and how their answers are delivered: by HTTP, as tools, as items of jobs, or in this process. */
export interface CallKind<First extends Call> {
  identify?: (helper: Helper) => Stage<First, Identified>;
  limit: (helper: Helper) => Stage<First & Identified, { limits: EffectiveLimits }>;
  admit?: AdmitOptions<First & Limited>;
  read: (helper: Helper) => Stage<First & Limited, BodyInput>;
  /** Watches the stages that may wait for input. */
  input?: <Needs, Finds extends object>(stage: Stage<Needs, Finds>) => Stage<Needs & First, Finds>;
  deliver?: <Needs extends CompleteCall>(last: LastStage<Needs>) => LastStage<Needs>;
}

/** The one list of stages that a helper's calls run through, for calls of one kind; made once for each helper. */
export function createPipelines<First extends Call>(
  parts: PipelineParts,
  kind: CallKind<First>,
): (helper: Helper) => (call: First) => Promise<Answer> {
  const { tracing } = parts;
  const { identify = alreadyKnown, input = (stage) => stage, deliver = (last) => last } = kind;
  const made = new WeakMap<Helper, (call: First) => Promise<Answer>>();

  function make(helper: Helper) {
    const source = fetchSource(helper, parts.files, parts.imageLimits);
    const last = runHelper(helper, parts.inline);
    const run = tracing ? traceLast(last) : last;
    return from<First>(tracing)
      .through(identify(helper))
      .through(kind.limit(helper))
      .through(admit(parts.pool, kind.admit))
      .through(input(kind.read(helper)))
      .through(validate(helper))
      .through(source && input(source))
      .to(deliver(parts.reuse ? reuse(helper, parts.reuse, run) : run));
  }

  return (helper) => {
    const pipeline = made.get(helper) ?? make(helper);
    made.set(helper, pipeline);
    return pipeline;
  };
}

function alreadyKnown<First extends Call>(): Stage<First, Identified> {
  return (call, next) => {
    const { caller, query } = call as unknown as GivenCall;
    return next({ caller, query });
  };
}
