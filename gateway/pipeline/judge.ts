import { type JudgedInput, judgeInput, type RawInput } from '../../schemas/input/judge-input.js';
import { isLight } from '../../schemas/input/weigh.js';
import { GatewayError } from '../errors.js';
import type { Helper } from '../helpers/registry.js';
import { type AdmittedCall, runTask } from './run-task.js';

/**
 * Judges what a call brought: on the main thread where that is quickly done, else in a worker, in the tenant's turn and at
 * its expense. The main thread is everybody's.
 */
export async function judge(helper: Helper, raw: RawInput, call: AdmittedCall): Promise<JudgedInput> {
  const { declaration, parameters } = helper;
  const runsDry = declaration.dryrun === 'run';
  if (isLight(raw)) return judgeInput(parameters, raw, { runsDry });
  const { input, source } = declaration;
  const outcome = await runTask(call, {
    kind: 'judge',
    service: helper.id,
    declaration: { input, ...(source ? { source } : {}) },
    raw,
    runsDry,
  });
  if (!outcome.ok) throw new GatewayError('internal', { cause: outcome });
  return outcome.value;
}
