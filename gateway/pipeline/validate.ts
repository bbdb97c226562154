import { boundProblems } from '../../schemas/field-problem.js';
import type { QueryText } from '../../schemas/input/parse.js';
import {
  isLight,
  type RawInput,
  type ValidatedInput,
  validateRawInput,
} from '../../schemas/input/validate-input.js';
import { GatewayError, inputError } from '../errors.js';
import { scopeAllows } from '../keys/model.js';
import { pipelineId } from '../plugins/paths.js';
import type { Helper, Step } from '../plugins/registry.js';
import { type AdmittedCall, runTask } from './admit.js';
import type { BodyInput } from './read-input.js';
import type { Caller, Stage } from './stage.js';

/** A call's input in normal form, without the text that it was made of. */
interface InputFound {
  input: Record<string, unknown>;
  text: undefined;
  /** Of a call with several operations. */
  steps?: readonly Step[] | undefined;
}

/** Makes one input of query and body and checks it by the schema; a large one in a worker, on the tenant's ticket. */
export function validate(
  helper: Helper,
): Stage<AdmittedCall & BodyInput & { query: QueryText; caller: Caller }, InputFound> {
  const { declaration, parameters, readSteps } = helper;
  const runsDry = declaration.dryrun === 'run';
  return async function validate(call, next) {
    const { query, text, uploads } = call;
    const raw = { query, body: text, uploaded: uploads.size === 0 ? undefined : [...uploads.keys()] };
    const light = isLight(raw);
    if (readSteps && !light) throw new GatewayError('too_large', { message: tooManySteps });
    const { input, dryrun, problems } = light
      ? validateRawInput(parameters, raw, { runsDry })
      : await validateInPool(helper, { raw, runsDry }, call);
    call.state.dryrun = dryrun;
    if (problems.length > 0) throw inputError(problems);
    // A waiting call must not hold its text beside the input.
    if (!readSteps) return next({ input, text: undefined });
    const { steps, format, problems: inSteps } = readSteps(input, { dryrun });
    if (inSteps.length > 0) throw inputError(boundProblems(inSteps));
    if (helper.id === pipelineId) requireScopes(call.caller, steps);
    return next({ input: format === undefined ? input : { ...input, format }, steps, text: undefined });
  };
}

/** Each of its steps is checked on the main thread. */
const tooManySteps =
  'The parameters of a call with several steps may have 64 KB of text and 500 commas at most; a picture is sent as a file or by its url.';

/** Whoever may call a pipeline may not therefore call every helper; a recipe shows what its owner has chosen. */
function requireScopes({ scopes }: Caller, steps: readonly Step[]): void {
  const at = steps.findIndex(({ helper }) => !scopeAllows(scopes, helper.id));
  const denied = steps[at]?.helper.id;
  if (denied === undefined) return;
  const message = `The key may not call ${denied}, the helper of steps.${at}: it needs the scope of each step's helper beside pipeline.`;
  throw new GatewayError('scope_denied', { message });
}

async function validateInPool(
  { id: service, declaration: { input, files } }: Helper,
  asked: { raw: RawInput; runsDry: boolean },
  call: AdmittedCall,
): Promise<ValidatedInput> {
  const outcome = await runTask(call, { kind: 'validate', service, declaration: { input, files }, ...asked });
  if (!outcome.ok) throw new GatewayError('internal', { cause: outcome });
  return outcome.value;
}
