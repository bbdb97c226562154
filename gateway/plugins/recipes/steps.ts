import { sourceField } from '../../../schemas/declared-helper.js';
import { mismatch } from '../../../schemas/explain-errors.js';
import type { FieldProblem } from '../../../schemas/field-problem.js';
import { isObject } from '../../../schemas/json-schema.js';
import { didYouMean } from '../../../schemas/nearest.js';
import { type CheckOptions, callParameters } from '../../../schemas/parameters/parameters.js';
import type { CallSteps, Helper, Registry, Step } from '../registry.js';

interface ReadOptions extends Pick<CheckOptions, 'dryrun' | 'anyEngine'> {
  /** What to name what a step's helper calls `field`. */
  nameField?: (step: number, field: string) => string;
}

/** Whether a helper can be a step: it takes one picture and answers it, and needs nothing that is said once for all steps. */
export function isStepHelper(helper: Helper | undefined): helper is Helper {
  if (helper === undefined || helper.readSteps) return false;
  const { files, output, effects, input } = helper.declaration;
  const required: unknown[] = Array.isArray(input.required) ? input.required : [];
  const isAlone = !required.some((name) => callParameters.includes(String(name)));
  return files.includes(sourceField) && !output && !effects && isAlone;
}

/** The helpers that can be steps, by their ids. */
export function stepHelpers(registry: Registry): Helper[] {
  return [...registry.values()].filter(isStepHelper);
}

/** `steps.1.width`; a problem of the whole step is `steps.1`. */
export function fieldInStep(step: number, field: string): string {
  if (field === '*') return `steps.${step}`;
  // A name that cannot be part of a path is quoted already.
  return field.startsWith('"') ? `steps.${step}[${field}]` : `steps.${step}.${field}`;
}

/** Reads steps as they are written: the id of a helper as `use`, and its parameters. All problems at once. */
export function readSteps(
  written: readonly unknown[],
  registry: Registry,
  { dryrun, anyEngine = false, nameField = fieldInStep }: ReadOptions,
): CallSteps {
  const problems: FieldProblem[] = [];
  const steps = written.flatMap((step, at): Step[] => {
    if (!isObject(step)) {
      problems.push({ field: nameField(at, '*'), problem: mismatch({ type: 'object' }, step) });
      return [];
    }
    const { use, ...parameters } = step;
    const helper = registry.get(String(use));
    if (typeof use !== 'string' || !isStepHelper(helper)) {
      problems.push({ field: nameField(at, 'use'), problem: useProblem(use, registry) });
      return [];
    }
    const checked = helper.parameters.check(parameters, { dryrun, anyEngine, isStep: true });
    problems.push(
      ...checked.problems.map(({ field, problem }) => ({ field: nameField(at, field), problem })),
    );
    return [{ helper, input: checked.input, fieldOf: (parameter) => nameField(at, parameter) }];
  });
  return { steps, problems };
}

function useProblem(use: unknown, registry: Registry): string {
  const ids = stepHelpers(registry).map(({ id }) => id);
  if (use === undefined) return `is required: one of ${ids.join(', ')}`;
  return mismatch({ enum: ids }, use) + (typeof use === 'string' ? didYouMean(use, ids) : '');
}
