import { performance } from 'node:perf_hooks';
import type { Logger } from 'pino';
import { type Answer, type BodyAnswer, jsonAnswer, jsonText, makeAnswer, nameOf } from '../../pool/answer.js';
import { CallScope, HandlerContext, type HelperParts } from '../../pool/context/handler-context.js';
import {
  type CallIds,
  type Fetched,
  type FetchRequest,
  fetchAfterEnd,
  fetchError,
  type LogSink,
  refusalIn,
  toFetchRefusal,
} from '../../pool/context/messages.js';
import type { CallKind } from '../../pool/costs.js';
import { readThrown } from '../../pool/errors.js';
import { guard } from '../../pool/plugin.js';
import { type CallStep, type CallTask, serviceOf } from '../../pool/task.js';
import { restoreObjectPrototype } from '../../pool/thread-settings.js';
import type { WholeAnswer } from '../download/exchange.js';
import type { CheckedUrl, Source } from '../download/fetch.js';
import { GatewayError, inputError, readHandlerError } from '../errors.js';
import type { HelperContext } from '../helper.js';
import type { InboundBudget } from '../http/inbound-budget.js';
import { type MainHelpers, runsOnMain } from '../plugins/main-helpers.js';
import type { Helper, HelperFunctions, Step } from '../plugins/registry.js';
import { type AdmittedCall, runTask } from './admit.js';
import type { SourceFound } from './fetch-source.js';
import { type CallCosts, createKindOf, createPriceOf, pixelsOf } from './price.js';
import type { BodyInput } from './read-input.js';
import type { Caller, CallState, LastStage } from './stage.js';

interface HandlerCall extends AdmittedCall, SourceFound {
  input: Record<string, unknown>;
  steps?: readonly Step[] | undefined;
  caller: Caller;
  /** What came with it, also in a dry run. */
  uploads?: BodyInput['uploads'];
}

/** The last stage of a helper's calls. */
export function runHelper(helper: Helper, forAll: RunOptions): LastStage<HandlerCall> {
  return helper.readSteps ? runSteps(helper, forAll) : runPlugin(helper, forAll);
}

/** Calls the handler where the plugin wants, or answers a dry run. Functions not imported here run in a worker. */
function runPlugin(helper: Helper, forAll: RunOptions): LastStage<HandlerCall> {
  const { id: service, url: plugin, declaration, functions, shipped } = helper;
  const { timeoutMs: own = Number.POSITIVE_INFINITY } = declaration;
  const timeoutMs = Math.min(own, forAll.timeoutMs);
  const here = { ...forAll, timeoutMs, shipped };
  const kindOf = createKindOf(helper);
  const parts = forAll.helpers.partsOf(helper);
  const handlesHere = declaration.runs === 'inline' ? functions : undefined;
  // Where the result of `setup` is.
  const dryRunsHere = !declaration.setup || runsOnMain(helper) ? functions?.dryrun : undefined;
  const priceOf = createPriceOf(forAll.costs, runHelper);

  async function runHelper(call: HandlerCall): Promise<Answer> {
    const { state, input } = call;
    // That of several steps is known already.
    if (state.dryrun) state.cost ??= await priceOf(call, kindOf(input, call.uploads?.values()), [helper]);
    if (state.dryrun && declaration.dryrun === 'operation') {
      return jsonAnswer({ operation: operationOf(helper) });
    }
    if (state.dryrun && declaration.dryrun === 'own') {
      if (!dryRunsHere) return runInPool(call, 'dryrun');
      return runHere(call, 'dryrun', (context) => dryRunsHere(input, context));
    }
    if (declaration.effects) state.mayHaveActed = true;
    if (handlesHere) return runHere(call, 'handler', (context) => handlesHere.handler(input, context));
    if (!mayBeShort(functions)) return runInPool(call, 'handler');
    return (await runShort(functions, call, callHere(call), here)) ?? runInPool(call, 'handler');
  }

  async function runInPool(call: HandlerCall, does: CallTask['does']): Promise<Answer> {
    const { input, files, state } = call;
    const { variant, size } = kindOf(input, files && Object.values(files));
    const task: CallTask = {
      kind: 'call',
      plugin,
      does,
      input,
      context: { service, request_id: state.requestId },
      ...(files ? { files } : {}),
      ...(own < forAll.timeoutMs ? { timeoutMs: own } : {}),
      ...(variant === undefined ? {} : { variant }),
      size,
    };
    return runInThread(call, task, forAll);
  }

  function runHere(
    call: HandlerCall,
    does: CallTask['does'],
    work: (context: HelperContext) => unknown,
  ): Promise<Answer> {
    const its = callHere(call);
    // A dry run of its own says nothing of what calls cost.
    const options = does === 'handler' ? here : { ...here, costs: undefined };
    return guarded(its.scope, here, () => makeHere(call.state, its, options, work));
  }

  function callHere(call: HandlerCall): CallHere {
    const ids = { service, request_id: call.state.requestId };
    const scope = new MainScope(call, ids, forAll, parts);
    const kind = kindOf(call.input, call.files && Object.values(call.files));
    return { scope, context: new HandlerContext(scope, parts) as HelperContext, kind };
  }

  return runHelper;
}

async function runInThread(
  call: HandlerCall,
  task: CallTask,
  { fetch }: Pick<RunOptions, 'fetch'>,
): Promise<Answer> {
  const outcome = await runTask(call, task, { fetch: (request, signal) => fetch(call, request, signal) });
  if (outcome.ok) return outcome.value;
  const error = readHandlerError(outcome, outcome.refusal);
  throw outcome.step === undefined ? error : inStep(call.steps?.[outcome.step], error);
}

const operationOf = ({ id }: Helper): string => id.slice(id.lastIndexOf('/') + 1);

/** Runs a call's steps on one picture in a worker; in a dry run each reports what it would do. */
function runSteps(helper: Helper, forAll: RunOptions): LastStage<HandlerCall> {
  const { id: service } = helper;
  const made = new WeakMap<Helper, LastStage<HandlerCall>>();
  const priceOf = createPriceOf(forAll.costs, runSteps);

  function dryRunOf(step: Helper): LastStage<HandlerCall> {
    const last = made.get(step) ?? runPlugin(step, forAll);
    made.set(step, last);
    return last;
  }

  async function runSteps(call: HandlerCall): Promise<Answer> {
    const { state, input, files, steps = [] } = call;
    const { url, format, quality } = input;
    const variant = typeof format === 'string' ? { variant: format } : {};
    if (state.dryrun) {
      const service = serviceOf({ context: { service: helper.id }, steps: steps.map(taskOf) });
      const kind = { service, ...variant, size: pixelsOf(call.uploads?.values() ?? []) };
      const helpers = steps.map((step) => step.helper);
      state.cost = await priceOf(call, kind, helpers);
      const reports: unknown[] = [];
      for (const step of steps) {
        const report = dryRunOf(step.helper)({ ...call, input: step.input, steps: undefined });
        const answer = await report.catch((error) => {
          throw inStep(step, error);
        });
        reports.push(answer.kind === 'bytes' ? null : JSON.parse(jsonText(answer)));
      }
      const result = { format: formatOf(steps, format), ...(quality === undefined ? {} : { quality }) };
      return jsonAnswer({
        operation: operationOf(helper),
        source_url: url ?? null,
        steps: reports,
        ...result,
      });
    }
    const own = steps.map((step) => step.helper.declaration.timeoutMs ?? forAll.timeoutMs);
    const task: CallTask = {
      kind: 'call',
      plugin: '',
      does: 'handler',
      input: { format, quality },
      steps: steps.map(taskOf),
      context: { service, request_id: state.requestId },
      ...(files ? { files } : {}),
      timeoutMs: Math.min(
        forAll.timeoutMs,
        own.reduce((sum, ms) => sum + ms, 0),
      ),
      ...variant,
      size: pixelsOf(Object.values(files ?? {})),
    };
    return runInThread(call, task, forAll);
  }

  return runSteps;
}

/** What the answer will be: a plugin from outside may have chosen, as the last. */
function formatOf(steps: readonly Step[], wanted: unknown): unknown {
  const last = steps.at(-1);
  return wanted ?? (last?.helper.shipped ? undefined : last?.input.format) ?? 'png';
}

function taskOf({ helper, input, fieldOf }: Step): CallStep {
  const names = helper.declaration.files.map(({ field, parameter }) => [field, fieldOf(parameter)]);
  return { plugin: helper.url, service: helper.id, input, names: Object.fromEntries(names) };
}

/** The error of a step, in the words of the call. */
function inStep(step: Step | undefined, thrown: unknown): unknown {
  if (!step || !(thrown instanceof GatewayError) || !thrown.details) return thrown;
  const details = thrown.details.map(({ field, problem }) => ({ field: step.fieldOf(field), problem }));
  return inputError(details, thrown.cause);
}

export interface RunOptions {
  log: LogSink;
  fetch: FetchForCall;
  timeoutMs: number;
  maxJsonBytes: number;
  maxBodyBytes?: number | undefined;
  logger: Pick<Logger, 'error'>;
  helpers: MainHelpers;
  costs?: CallCosts | undefined;
}

interface RunHereOptions
  extends Pick<RunOptions, 'timeoutMs' | 'maxJsonBytes' | 'maxBodyBytes' | 'logger' | 'costs'> {
  /** The package's own code settles and lets no error escape. */
  shipped?: boolean | undefined;
}

interface CallHere {
  context: HelperContext;
  scope: CallScope & { waitedMs?: number };
  kind: CallKind;
}

/** The functions of a pool helper whose `inline` says which calls are short. */
type ShortFunctions = HelperFunctions & Required<Pick<HelperFunctions, 'inline'>>;

export function mayBeShort(functions: HelperFunctions | undefined): functions is ShortFunctions {
  return functions?.inline !== undefined;
}

/** Runs a short call of a pool helper here and counts its time; undefined for one that is not short. */
export function runShort(
  functions: ShortFunctions,
  { state, input }: { state: Pick<CallState, 'taskMs'>; input: Record<string, unknown> },
  its: CallHere,
  options: RunHereOptions,
): Promise<Answer | undefined> {
  return guarded(its.scope, options, async () => {
    const isShort = functions.inline(input);
    // A promise would be truthy for every call.
    if (typeof isShort !== 'boolean')
      throw new Error(`inline must return true or false, but it returned ${nameOf(isShort)}`);
    if (!isShort) return undefined;
    return makeHere(state, its, options, (context) => functions.handler(input, context));
  });
}

/** Makes an answer on the main thread and counts its time, less what it waited for its fetches: other calls ran meanwhile. */
async function makeHere(
  state: Pick<CallState, 'taskMs'>,
  { scope, context, kind }: CallHere,
  { costs, maxJsonBytes, maxBodyBytes }: RunHereOptions,
  work: (context: HelperContext) => unknown,
): Promise<Answer> {
  const began = performance.now();
  let made: Answer | undefined;
  try {
    made = makeAnswer(await work(context), maxJsonBytes, maxBodyBytes);
    return made;
  } finally {
    const ms = performance.now() - began - (scope.waitedMs ?? 0);
    state.taskMs += ms;
    if (made) costs?.note(kind, ms);
  }
}

/** An error that escapes a plugin would end the process, and a promise that never settles would hold its call for ever. */
async function guarded<T>(
  scope: CallScope,
  { timeoutMs, logger, shipped }: RunHereOptions,
  work: () => Promise<T>,
): Promise<T> {
  const { service, request_id } = scope.ids;
  const readError = (error: unknown) => scope.redacted(readThrown(error));
  try {
    if (shipped) return await work();
    return await guard(
      {
        name: service,
        timeoutMs,
        onTime: () => scope.abort('deadline'),
        onLate: (error) =>
          logger.error({ err: readError(error), service, request_id }, 'helper failed after its answer'),
      },
      work,
    );
  } catch (error) {
    throw readHandlerError(readError(error), refusalIn(error));
  } finally {
    if (!shipped) {
      restoreObjectPrototype(service);
      scope.end();
    }
  }
}

/** The preview of an answer for a client that cannot show every picture. */
export interface PreviewRequest {
  needsPreview(answer: BodyAnswer): boolean;
  maxBytes: number;
  preview?: BodyAnswer;
}

/** Also makes a preview of the answer, on the call's ticket, where `shown` wants one. A failed one fails no call. */
export function withPreview<Needs extends AdmittedCall>(
  last: LastStage<Needs>,
): LastStage<Needs & { readonly shown?: PreviewRequest | undefined }> {
  return async function withPreview(call) {
    const answer = await last(call);
    const { shown } = call;
    if (!shown || answer.kind !== 'bytes' || !shown.needsPreview(answer)) return answer;
    const task = { kind: 'preview', bytes: answer.bytes, maxBytes: shown.maxBytes } as const;
    const outcome = await runTask(call, task).catch(() => undefined);
    if (outcome?.ok) shown.preview = outcome.value;
    return answer;
  };
}

export class MainScope extends CallScope {
  readonly #call: FetchingCall;
  readonly #fetchForCall: FetchForCall;
  #fetches: AbortController | undefined;
  #fetching = 0;
  #fetchingSince = 0;
  /** Milliseconds in which it waited for fetches. */
  waitedMs = 0;

  constructor(
    call: FetchingCall,
    ids: CallIds,
    { log, fetch }: Pick<RunOptions, 'log' | 'fetch'>,
    { redactor }: HelperParts,
  ) {
    super(ids, log, redactor);
    this.#call = call;
    this.#fetchForCall = fetch;
  }

  protected override watch(): void {
    const { signal } = this.#call.state;
    if (signal.aborted) this.abort('gone');
    else signal.addEventListener('abort', () => this.abort('gone'), { once: true });
  }

  protected override async ask(request: FetchRequest): Promise<Fetched> {
    this.#fetches ??= this.#abortWithCall();
    const { signal } = this.#fetches;
    if (this.#fetching === 0) this.#fetchingSince = performance.now();
    this.#fetching += 1;
    try {
      return await this.#fetchForCall(this.#call, request, signal);
    } catch (error) {
      throw signal.aborted ? signal.reason : fetchError(toFetchRefusal(error));
    } finally {
      this.#fetching -= 1;
      if (this.#fetching === 0) this.waitedMs += performance.now() - this.#fetchingSince;
    }
  }

  #abortWithCall(): AbortController {
    const fetches = new AbortController();
    const { signal } = this;
    if (signal.aborted) fetches.abort(signal.reason);
    signal.addEventListener('abort', () => fetches.abort(signal.reason), { once: true });
    return fetches;
  }

  override end(): void {
    super.end();
    this.#fetches?.abort(fetchAfterEnd());
  }
}

interface FetchingCall {
  readonly state: Pick<CallState, 'bytesIn' | 'fetched' | 'signal' | 'trace'>;
  readonly caller: Caller;
}

/** Fetches for a call's handler. Rejects with a `GatewayError`, or with the reason of `signal`. */
type FetchForCall = (call: FetchingCall, request: FetchRequest, signal: AbortSignal) => Promise<Fetched>;

/** Fetches through the guard of callers' urls, with the tenant's connections and share of the inbound budget. */
export function createFetchForCall(source: Source, inboundBudget: InboundBudget): FetchForCall {
  return async function fetchForCall({ state, caller }, { url, accept = '*/*', maxBytes }, signal) {
    // A caught refusal shapes the answer as well.
    state.fetched = true;
    const checked = checkFetchUrl(source, url);
    const tenant = caller.tenant.id;
    const transfer = inboundBudget.enter(tenant, 'source_timeout');
    try {
      const { status, headers, body } = await source.fetch(checked, {
        tenant,
        accept,
        maxBytes,
        anyStatus: true,
        trace: state.trace,
        signal: AbortSignal.any([transfer.signal, signal]),
        onProgress: transfer.add,
      });
      state.bytesIn += body.byteLength;
      return { status, headers: joinHeaders(headers), bytes: body };
    } finally {
      transfer.release();
    }
  };
}

/** The url may be the helper's or its caller's, so its error names no field of the input. */
function checkFetchUrl(source: Source, url: string): CheckedUrl {
  try {
    return source.check(url);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'invalid_input') throw error;
    const problem = error.details?.[0]?.problem ?? 'is none';
    const message = `The helper was to fetch a url that cannot be: it ${problem}.`;
    throw new GatewayError('source_refused', { message });
  }
}

function joinHeaders(headers: WholeAnswer['headers']): Record<string, string> {
  const joined: Record<string, string> = {};
  for (const [name, value = ''] of Object.entries(headers))
    joined[name.toLowerCase()] = [value].flat().join(', ');
  return joined;
}
