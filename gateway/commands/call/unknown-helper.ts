import { didYouMean } from '../../../schemas/nearest.js';
import { escapeInvisible, quote } from '../../../schemas/quote.js';
import { usageCode } from './make-calls.js';
import { printJson, printText, type Screen } from './print.js';

/** What to say where no helper of this name is there, or none was named: which there are. The first line says it alone. */
export function unknownHelper(
  service: string | undefined,
  helpers: readonly { id: string; summary: string }[],
): string {
  const ids = helpers.map(({ id }) => id);
  const width = Math.max(0, ...ids.map((id) => id.length));
  const list = helpers.map(({ id, summary }) => escapeInvisible(`  ${id.padEnd(width)}  ${summary}`));
  const first = service ? `there is no helper ${quote(service)}${didYouMean(service, ids)}` : 'name a helper';
  return [
    service === undefined ? 'Usage: helper-gateway call SERVICE [--parameter value …] [FILES…]' : first,
    '',
    ...list,
    '',
    'helper-gateway call SERVICE --help shows its parameters.',
    'With --server URL a gateway there does the work, by the key of --key or HELPER_KEY.',
  ].join('\n');
}

/** Says so, and gives the exit code. */
export function printUnknown(
  service: string,
  helpers: Parameters<typeof unknownHelper>[1],
  { stdout, stderr }: Screen,
  json: boolean,
): number {
  const text = unknownHelper(service, helpers);
  if (json) printJson(stdout, { ok: false, error: { code: 'not_found', message: text.split('\n', 1)[0] } });
  else printText(stderr, `Error: ${text}`);
  return usageCode;
}
