import type { QueryText } from '../../schemas/input/parse.js';
import {
  isLight,
  type RawInput,
  type ValidatedInput,
  validateRawInput,
} from '../../schemas/input/validate-input.js';
import { GatewayError, inputError } from '../errors.js';
import type { Helper } from '../plugins/registry.js';
import { type AdmittedCall, runTask } from './admit.js';
import type { BodyInput } from './read-input.js';
import type { Stage } from './stage.js';

/** A call's input in normal form, without the text that it was made of. */
interface InputFound {
  input: Record<string, unknown>;
  text: undefined;
}

/** Makes one input of query and body and checks it by the schema; a large one in a worker, on the tenant's ticket. */
export function validate(helper: Helper): Stage<AdmittedCall & BodyInput & { query: QueryText }, InputFound> {
  const { declaration, parameters } = helper;
  const runsDry = declaration.dryrun === 'run';
  return async function validate(call, next) {
    const { query, text, uploads } = call;
    const raw = { query, body: text, uploaded: uploads.size === 0 ? undefined : [...uploads.keys()] };
    const { input, dryrun, problems } = isLight(raw)
      ? validateRawInput(parameters, raw, { runsDry })
      : await validateInPool(helper, { raw, runsDry }, call);
    call.state.dryrun = dryrun;
    if (problems.length > 0) throw inputError(problems);
    // A waiting call must not hold its text beside the input.
    return next({ input, text: undefined });
  };
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
