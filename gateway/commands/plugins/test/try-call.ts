import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { jsonText } from '../../../../pool/answer.js';
import { readThrown, type Thrown } from '../../../../pool/thrown.js';
import type { JudgeOutput } from '../../../../schemas/output.js';
import type { GatewayError } from '../../../errors.js';
import { exitHint, timeHint } from '../../../helpers/fault-hints.js';
import type { Helper } from '../../../helpers/registry.js';
import type { LocalHelpers } from '../../../local/local-helpers.js';
import type { GeneratedCall } from './inputs.js';
import { sampleFile } from './sample-files.js';

/** A helper that is tried. */
export interface Tried {
  helper: Helper;
  local: Pick<LocalHelpers, 'call'>;
  judgeOutput: JudgeOutput | undefined;
}

/** How a call ended: `code` is that of its error, or `output` where the answer is not as declared. */
export type Ended = { ok: true } | { ok: false; code: string; reason: string };

/** Makes a call with sample files in its file fields, and holds the answer to the declared output. */
export async function tryCall(
  { helper, local, judgeOutput }: Tried,
  { input, files }: GeneratedCall,
): Promise<Ended> {
  const { declaration, parameters } = helper;
  const wanted = declaration.files.filter(({ field }) => files.includes(field));
  const uploads = new Map(wanted.map((field) => [field.field, sampleFile(field)]));
  const bytes = new TextEncoder().encode(JSON.stringify(input));
  const { error, reply } = await local
    .call(helper, { body: { kind: 'json', bytes }, uploads })
    .then((each) => ({ reply: each, error: each.ok ? undefined : each.error }));
  if (error) return { ok: false, code: error.code, reason: reasonOf(error, helper) };
  if (!reply.ok || reply.answer.kind === 'bytes' || !judgeOutput) return { ok: true };
  const isRehearsal =
    parameters.check(input, { dryrun: true }).problems.length === 0 && input.dryrun === true;
  if (isRehearsal && declaration.dryrun !== 'run') return { ok: true };
  const { answer } = reply;
  const problems = judgeOutput(JSON.parse(jsonText(answer)));
  if (problems.length === 0) return { ok: true };
  const told = problems.map(({ field, problem }) => `${field} ${problem}`).join('; ');
  return { ok: false, code: 'output', reason: `the answer is not as output says: ${told}` };
}

/** What the author is to read: of a fault what was thrown and where, of any other error what callers read. */
function reasonOf({ code, message, details, cause }: GatewayError, { file }: Helper): string {
  if (details) return `${code}: ${details.map(({ field, problem }) => `${field} ${problem}`).join('; ')}`;
  if (code === 'helper_timeout') return `${code}: ${message}${timeHint(cause)}`;
  const thrown = cause instanceof Error ? readThrown(cause) : ((cause ?? {}) as Partial<Thrown>);
  if (code !== 'internal' || typeof thrown.message !== 'string') return `${code}: ${message}`;
  const folder = pathToFileURL(dirname(file)).href;
  const frame = thrown.stack?.split('\n').find((line) => line.includes(folder));
  const place = frame?.replace(/^\s*at /, '').replace(/file:\/\//, '');
  return `${thrown.name ?? 'Error'}: ${thrown.message}${exitHint(thrown)}${place ? ` (${place})` : ''}`;
}
