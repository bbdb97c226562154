import type { FileBytes } from '../../../pool/task.js';
import type { FieldProblem } from '../../../schemas/field-problem.js';
import type { BodyText } from '../../../schemas/input/judge-input.js';
import type { QueryText } from '../../../schemas/input/urlencoded.js';
import { inputError } from '../../errors.js';
import type { Helper } from '../../helpers/registry.js';
import { type MultipartLimits, uploadTooLarge } from '../../http/body/multipart.js';
import { bodyTooLarge } from '../../http/body/text-body.js';
import { type BodyInput, noUploads } from '../../pipeline/read-input.js';
import type { Stage } from '../../pipeline/stage.js';
import type { ItemInput } from '../model.js';
import { inputName, type ResultStore } from '../results/result-store.js';
import type { StartedItem } from '../store/job-store.js';
import type { ItemCall } from './item-call.js';

type ItemText = BodyInput & { query: QueryText };

/** Brings what an item was given, as a body would have: its text, and its files from where they lie. As much as a body may hold. */
export function readItem(
  { declaration }: Pick<Helper, 'declaration'>,
  results: Pick<ResultStore, 'get'>,
  limits: MultipartLimits,
): Stage<ItemCall, ItemText> {
  const fileFields = new Set(declaration.files.map(({ field }) => field));

  return function readItem({ item, state }, next) {
    const { input } = item;
    const fileBytes = input.files.reduce((sum, { bytes }) => sum + bytes, 0);
    if (fileBytes > limits.maxFileBytes) throw uploadTooLarge(limits);
    if (state.bytesIn - fileBytes > limits.maxTextBytes) throw bodyTooLarge(limits.maxTextBytes);
    const query: QueryText = { values: new Map(), problems: [] };
    if (input.files.length === 0) return next({ text: textOf(input, []), uploads: noUploads, query });
    const lost = input.files.flatMap(({ field }): FieldProblem[] =>
      fileFields.has(field) ? [] : [{ field, problem: 'is not a field for a file' }],
    );
    if (lost.length > 0) throw inputError(lost);
    return readFiles(item, results).then((uploads) => next({ text: textOf(input, []), uploads, query }));
  };
}

function textOf({ json, fields }: ItemInput, problems: FieldProblem[]): BodyText | undefined {
  if (json !== undefined) return { kind: 'json', bytes: Buffer.from(json) };
  if (!fields) return undefined;
  return {
    kind: 'fields',
    fields: new Map(fields.map(([name, value]) => [name, Buffer.from(value)])),
    problems,
  };
}

async function readFiles(
  item: StartedItem,
  results: Pick<ResultStore, 'get'>,
): Promise<Map<string, FileBytes>> {
  const uploads = new Map<string, FileBytes>();
  for (const file of item.input.files) {
    const name = inputName(item, file);
    const bytes = await results.get(name);
    if (!bytes) {
      throw new Error(
        `${name} is not where files of jobs are kept: do all processes have the same HELPER_RESULTS_URL or HELPER_DATA_DIR?`,
      );
    }
    const { field, type, name: given } = file;
    uploads.set(field, { bytes: own(bytes), type, ...(given === undefined ? {} : { name: given }) });
  }
  return uploads;
}

/** In memory of its own, which is then moved to a thread. */
function own(bytes: Buffer): Uint8Array {
  const isAlone = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
  return isAlone ? bytes : new Uint8Array(bytes);
}
