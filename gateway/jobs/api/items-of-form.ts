import type { FileField } from '../../../schemas/declared-helper.js';
import type { FieldProblem } from '../../../schemas/field-problem.js';
import { fieldName } from '../../../schemas/quote.js';
import type { ItemFile, ItemInput } from '../model.js';
import { mostItems } from '../model.js';
import type { AskedFile } from './asked.js';

/** The items of a job and the bytes of their files. */
export interface JobItems {
  inputs: readonly ItemInput[];
  files: readonly ReadonlyMap<string, Uint8Array>[];
  sharedFiles: ReadonlyMap<string, Uint8Array>;
}

/** The name under which every item's file may come, whatever the helper calls it. */
const anyFile = 'file';

/**
 * Makes an item of each file that came for the helper's one main field, in their order. The other files, such as a logo, are
 * every item's, and so are the text fields, in one list. Tells what is wrong with the files by `tell`.
 */
export function itemsOfForm(
  fields: readonly (readonly [string, string])[],
  files: readonly AskedFile[],
  { known, tell }: FormRules,
): JobItems {
  const main = mainField(known);
  const own: AskedFile[] = [];
  const shared = new Map<string, AskedFile>();
  const lost = new Set<string>();
  for (const file of files) {
    if (main && (file.field === anyFile || file.field === main.field)) own.push(file);
    else if (!main || !known.some(({ field }) => field === file.field)) lost.add(file.field);
    else if (shared.has(file.field)) lost.add(file.field);
    else shared.set(file.field, file);
  }
  for (const field of lost) tell({ field: fieldName(field), problem: lostProblem(field, known, main) });
  for (const [name] of fields)
    if (main && name === anyFile) tell({ field: anyFile, problem: 'must be a file' });
  tellCount(own, { main, hasLost: lost.has(anyFile) || (!main && lost.size > 0), tell });
  const sharedFiles = [...shared.values()].map((file): ItemFile => ({ ...describe(file), shared: true }));
  return {
    inputs: own.map((file) => ({
      fields,
      files: [{ ...describe(file), field: main?.field ?? anyFile }, ...sharedFiles],
    })),
    files: own.map(({ bytes }) => new Map([[main?.field ?? anyFile, bytes]])),
    sharedFiles: new Map([...shared].map(([field, { bytes }]) => [field, bytes])),
  };
}

export interface FormRules {
  /** The files that the helper takes. */
  known: readonly FileField[];
  tell: (problem: FieldProblem) => void;
}

/** The one file of which each item has its own: the one that is required, or the only one. */
export function mainField(known: readonly FileField[]): FileField | undefined {
  const required = known.filter(({ required }) => required);
  const [only, ...others] = required.length > 0 ? required : known;
  return others.length === 0 ? only : undefined;
}

function lostProblem(field: string, known: readonly FileField[], main: FileField | undefined): string {
  if (known.length === 0)
    return 'is not taken by this helper, which works without a file: send inputs as JSON';
  const names = known.map(({ field }) => field).join(', ');
  if (!main)
    return `cannot make items: this helper takes several files (${names}). Send inputs as JSON with their urls`;
  if (known.some((each) => each.field === field)) return 'is every item’s and must be given once';
  return `must not be a file; the files of this helper are called ${names}`;
}

function tellCount(
  own: readonly AskedFile[],
  { main, hasLost, tell }: { main: FileField | undefined; hasLost: boolean } & Pick<FormRules, 'tell'>,
): void {
  if (own.length > mostItems) tell({ field: anyFile, problem: `must be given at most ${mostItems} times` });
  if (own.length > 0 || hasLost) return;
  if (main)
    tell({ field: main.field, problem: `is required: 1 to ${mostItems} files, of which each is an item` });
  else tell({ field: 'inputs', problem: 'is required: this helper makes no items of a form, so send JSON' });
}

function describe({ field, type, name, bytes }: AskedFile): ItemFile {
  return { field, type, ...(name === undefined ? {} : { name }), bytes: bytes.byteLength };
}
