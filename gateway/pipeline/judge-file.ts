import type { ImageLimits } from '../../pool/image/engine.js';
import { checkHeader } from '../../pool/image/header/probe.js';
import type { FileBytes } from '../../pool/task.js';
import { type FileField, sourceField } from '../../schemas/declared-helper.js';
import type { FieldProblem } from '../../schemas/field-problem.js';
import { GatewayError, inputError } from '../errors.js';
import { toGatewayError } from '../http/read-error.js';

/** Whether a file came in the request, or its url did. */
export type Way = 'upload' | 'url';

/**
 * Holds a file against what its field takes, before a worker sees it. Throws a `GatewayError`: what the header of a picture is
 * refused for, `too_large` for an upload past the field's own bound (a download ends there), and `invalid_input` for a media type
 * that is not among those of the field. A picture's is what its bytes say, any other's what its sender says.
 */
export function judgeFile(
  field: FileField,
  file: FileBytes,
  { way, limits }: { way: Way; limits: ImageLimits },
): void {
  if (way === 'upload') requireSize(field, file);
  const type = field.kind === 'image' ? imageType(file, limits) : essenceOf(file.type);
  if (field.types && !field.types.some((allowed) => matches(type, allowed))) {
    throw inputError([typeProblem(field, { type, way })]);
  }
}

/** What is the fault of no file, or names it already. */
const ofNoFile: ReadonlySet<string> = new Set([
  'invalid_input',
  'internal',
  'tenant_busy',
  'busy',
  'shutting_down',
]);

/** An error of a file says which one it was, where there may be several. */
export function aboutFile({ parameter, field }: FileField, way: Way, thrown: unknown): unknown {
  const error = toGatewayError(thrown);
  const isOnly = field === sourceField.field && parameter === sourceField.parameter;
  if (isOnly || ofNoFile.has(error.code)) return thrown;
  const name = way === 'url' ? parameter : field;
  return new GatewayError(error.code, { message: `${name}: ${error.message}`, cause: error.cause ?? error });
}

function requireSize({ maxBytes }: FileField, { bytes }: FileBytes): void {
  if (maxBytes === undefined || bytes.byteLength <= maxBytes) return;
  throw new GatewayError('too_large', {
    message: `The file has ${bytes.byteLength} bytes; ${maxBytes} are accepted.`,
  });
}

function imageType({ bytes }: FileBytes, limits: ImageLimits): string {
  return `image/${checkHeader(bytes, limits).format}`;
}

function typeProblem(
  { field, parameter, types = [] }: FileField,
  { type, way }: { type: string; way: Way },
): FieldProblem {
  const allowed = types.length === 1 ? `allowed is ${types[0]}` : `allowed are ${types.join(', ')}`;
  const shown = type.slice(0, 100);
  return way === 'url'
    ? { field: parameter, problem: `leads to a file of the type ${shown}; ${allowed}` }
    : { field, problem: `is a file of the type ${shown}; ${allowed}` };
}

/** A media type without its parameters. */
function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

function matches(type: string, allowed: string): boolean {
  const wanted = allowed.toLowerCase();
  return wanted.endsWith('/*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted;
}
