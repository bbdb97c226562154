import type { QueryText } from '../../schemas/input/urlencoded.js';
import { after } from '../after.js';
import { inputError } from '../errors.js';
import type { Helper } from '../helpers/registry.js';
import { judge } from './judge.js';
import type { BodyInput } from './read-input.js';
import type { AdmittedCall } from './run-task.js';
import type { Stage } from './stage.js';

/** A call's input in its normal form; the text that it was made of is gone. */
export interface InputFound {
  input: Record<string, unknown>;
  text: undefined;
}

/** Makes one input object of query and body and judges it by the helper's schema; every problem is told at once. */
export function validate(helper: Helper): Stage<AdmittedCall & BodyInput & { query: QueryText }, InputFound> {
  return function validate(call, next) {
    const { query, text, uploads } = call;
    const raw = { query, body: text, uploaded: uploads.size === 0 ? undefined : [...uploads.keys()] };
    return after(judge(helper, raw, call), ({ input, dryrun, problems }) => {
      call.state.dryrun = dryrun;
      if (problems.length > 0) throw inputError(problems);
      // Waiting for its turn, a call holds what it was sent once: as input, no longer as text too.
      return next({ input, text: undefined });
    });
  };
}
