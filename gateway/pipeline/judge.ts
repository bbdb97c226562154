import { type JudgedInput, judgeInput, type RawInput } from '../../schemas/input/judge-input.js';
import { isLight } from '../../schemas/input/weigh.js';
import type { Now } from '../after.js';
import { GatewayError } from '../errors.js';
import type { Helper } from '../helpers/registry.js';
import { type AdmittedCall, runTask } from './run-task.js';

/**
 * Judges what a call brought: on the main thread where that is quickly done, else in a worker, in the tenant's turn and at
 * its expense. The main thread is everybody's.
 */
export function judge(helper: Helper, raw: RawInput, call: AdmittedCall): Now<JudgedInput> {
  const { declaration, parameters } = helper;
  const runsDry = declaration.dryrun === 'run';
  return isLight(raw)
    ? judgeInput(parameters, raw, { runsDry })
    : judgeInPool(helper, { raw, runsDry }, call);
}

async function judgeInPool(
  { id: service, declaration: { input, files } }: Helper,
  { raw, runsDry }: { raw: RawInput; runsDry: boolean },
  call: AdmittedCall,
): Promise<JudgedInput> {
  const outcome = await runTask(call, {
    kind: 'judge',
    service,
    declaration: { input, files },
    raw,
    runsDry,
  });
  if (!outcome.ok) throw new GatewayError('internal', { cause: outcome });
  return outcome.value;
}
