import type { FieldProblem } from '../../schemas/field-problem.js';
import type { CheckOptions } from '../../schemas/parameters/parameters.js';
import type { Helper } from '../plugins/registry.js';

/** One operation of a call with several. */
export interface Step {
  helper: Helper;
  /** Validated, in normal form, with defaults. */
  input: Record<string, unknown>;
  /** What the caller named one of the helper's parameters: `steps.1.width`, or the recipe's own. */
  fieldOf: (parameter: string) => string;
}

/** What a call consists of; the steps are to be used only where there is no problem. */
export interface CallSteps {
  steps: Step[];
  problems: FieldProblem[];
}

/** Reads the steps of a validated input. Throws a `conflict` where a step's helper has gone. */
export type ReadSteps = (
  input: Record<string, unknown>,
  options: Pick<CheckOptions, 'dryrun'>,
) => CallSteps;
