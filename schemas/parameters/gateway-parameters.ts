import type { FileField } from '../declared-helper.js';
import type { FieldProblem } from '../field-problem.js';
import { isObject, type JsonSchema } from '../json-schema.js';

/** The parameters that the gateway adds to a helper's own. */
export const dryrunParameter = {
  type: 'boolean',
  description: 'Checks the input and answers with JSON; what is required may be left out.',
} as const;

/** What a parameter that holds the url of a file takes. */
export const urlParameter = { type: 'string', minLength: 1, maxLength: 8192 } as const;

/** Added for each file that a helper takes, where an upload as its multipart field may take its place. */
export function fileParameter(file: FileField): JsonSchema {
  const { field, kind } = file;
  const what = kind === 'image' ? 'picture' : 'file';
  const how = `Public https address of the ${what}; in its place the multipart field ${field} takes an upload.`;
  return { ...urlParameter, description: sentences(describeFile(file), how) };
}

/** What a file is for, by its author, and whose place it takes. */
export function describeFile({ description, insteadOf }: FileField): string | undefined {
  if (insteadOf === undefined) return description;
  return sentences(description, `Takes the place of ${insteadOf}.`);
}

/** A helper's own parameter, which says whether a file may come in its place, and whether it means nothing beside or without one. */
export function ownParameter(name: string, schema: unknown, files: readonly FileField[]): unknown {
  const notes = files.flatMap(({ field, parameter, insteadOf, notWith, options }) => {
    const names = field === parameter ? field : `${parameter} or ${field}`;
    return [
      ...(insteadOf === name ? [`Required, unless a file comes as ${names}.`] : []),
      ...(notWith?.includes(name) ? [`Not beside ${names}.`] : []),
      ...(options?.includes(name) ? [`Only beside ${names}.`] : []),
    ];
  });
  if (notes.length === 0 || !isObject(schema)) return schema;
  return { ...schema, description: sentences(schema.description, ...notes) };
}

function sentences(...parts: unknown[]): string {
  return parts.filter((part) => typeof part === 'string').join(' ');
}

/** What a signed url has beside a helper's parameters: the key's id, when it ends, and the signature. */
export const signatureParameters = ['kid', 'exp', 'sig'] as const;

/** Names that no helper may give to a parameter, for the gateway reads them itself. */
export function reservedNames(files: readonly Pick<FileField, 'field' | 'parameter'>[]): string[] {
  const ofFiles = files.flatMap(({ field, parameter }) => [parameter, field]);
  return [...new Set(['ak', ...signatureParameters, 'dryrun', ...ofFiles])];
}

/** What came for a helper's files. */
interface FilesGiven {
  /** Whether a parameter was sent, with whatever value. */
  has: (parameter: string) => boolean;
  /** Multipart fields that brought a file. */
  uploaded: readonly string[];
  /** Whether a file came that could not be taken: it has its problem, and that there is none would be another for the same mistake. */
  hasLost: boolean;
  /** Lifts what is required. */
  dryrun: boolean;
  /** What a parameter takes, as a noun. */
  allowed: (parameter: string) => string;
}

/**
 * A file that a helper takes comes once, as an upload or by its url; one that it requires has to come, but in a dry run, and so
 * has either a file or the parameter in whose place it may stand.
 */
export function sourceProblems(
  files: readonly FileField[],
  { has, uploaded, hasLost, dryrun, allowed }: FilesGiven,
): FieldProblem[] {
  const known = new Set(files.map(({ field }) => field));
  const unknown = uploaded.filter((field) => !known.has(field)).map((field) => unknownUpload(field, files));
  const found = files.map((file) => problemOf(file) ?? insteadProblem(file));
  return [...unknown, ...found.filter((problem) => problem !== undefined)];

  function problemOf(file: FileField): FieldProblem | undefined {
    const { field, parameter, required } = file;
    const hasUrl = has(parameter);
    const hasFile = uploaded.includes(field);
    if (hasUrl && hasFile) return { field: parameter, problem: sentTwice(file) };
    if (hasUrl || hasFile || hasLost || dryrun || !required) return undefined;
    return { field: parameter, problem: missingFile(file) };
  }

  function insteadProblem(file: FileField): FieldProblem | undefined {
    const { insteadOf } = file;
    if (insteadOf === undefined) return undefined;
    const came = cameAs(file, { has, uploaded });
    if (has(insteadOf)) {
      if (came === undefined) return undefined;
      return {
        field: came,
        problem: `is sent together with ${insteadOf}; send only one of ${insteadOf} and ${came}`,
      };
    }
    if (came !== undefined || hasLost || dryrun) return undefined;
    return {
      field: insteadOf,
      problem: `is required: ${allowed(insteadOf)}; or in its place ${howToSend(file)}`,
    };
  }
}

/** What was sent beside a file that it means nothing with, or without the one that it is about; of each parameter one problem. */
export function pointlessProblems(files: readonly FileField[], given: FilesGiven): FieldProblem[] {
  const { has, hasLost, dryrun } = given;
  const told = new Map<string, FieldProblem>();
  for (const file of files) {
    const { field, parameter, insteadOf, notWith = [], options = [] } = file;
    const came = cameAs(file, given);
    const isMissing = came === undefined && !hasLost && (insteadOf === undefined ? !dryrun : has(insteadOf));
    const names = field === parameter ? field : `${parameter} or ${field}`;
    const pointless: [readonly string[], string][] = [
      [came === undefined ? [] : notWith, `means nothing beside ${came}`],
      [isMissing ? options : [], `means nothing without ${names}`],
    ];
    for (const [parameters, problem] of pointless) {
      for (const name of parameters.filter(has)) told.set(name, { field: name, problem });
    }
  }
  return [...told.values()];
}

/** The name by which a file came. */
function cameAs(
  { field, parameter }: FileField,
  { has, uploaded }: Pick<FilesGiven, 'has' | 'uploaded'>,
): string | undefined {
  if (has(parameter)) return parameter;
  return uploaded.includes(field) ? field : undefined;
}

function unknownUpload(field: string, files: readonly FileField[]): FieldProblem {
  if (files.length === 0)
    return { field, problem: 'is not taken by this helper, which works without a file' };
  const names = files.map((file) => file.field);
  return { field, problem: `is no file field of this helper; it takes ${names.join(', ')}` };
}

function sentTwice({ field, parameter }: FileField): string {
  return field === parameter
    ? 'is sent both as a url and as an uploaded file; send only one'
    : `is sent together with an uploaded file; send only one of ${parameter} and ${field}`;
}

function missingFile(file: FileField): string {
  return `is required: ${howToSend(file)}`;
}

function howToSend({ field, parameter, kind }: FileField): string {
  const what = kind === 'image' ? 'a picture' : 'a file';
  return field === parameter
    ? `send the url of ${what}, or upload one in the multipart field ${field}`
    : `send the url of ${what}${parameter === 'url' ? '' : ` as ${parameter}`}, or upload one as ${field}`;
}
