import type { FileField } from '../declared-helper.js';
import type { FieldProblem } from '../field-problem.js';
import { isObject, type JsonSchema } from '../json-schema.js';

/** The parameters that the gateway adds to a helper's own. */
export const dryrunParameter = {
  type: 'boolean',
  description: 'Checks the input and answers with JSON; what is required may be left out.',
} as const;

/** What the url of a file may be. */
export const urlParameter = { type: 'string', minLength: 1, maxLength: 8192 } as const;

/** The parameter for a file's url, beside its multipart field. */
export function fileParameter(file: FileField): JsonSchema {
  const { field, kind } = file;
  const what = kind === 'image' ? 'picture' : 'file';
  const how = `Public https address of the ${what}; in its place the multipart field ${field} takes an upload.`;
  return { ...urlParameter, description: sentences(describeFile(file), how) };
}

/** What a file is for, by its author, and which parameter it replaces. */
export function describeFile({ description, insteadOf }: FileField): string | undefined {
  if (insteadOf === undefined) return description;
  return sentences(description, `Takes the place of ${insteadOf}.`);
}

/** A helper's own parameter, with notes on files that replace it, and on those with or without which it means nothing. */
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

/** The parameters of a signed url: the key's id, its expiry and the signature. */
export const signatureParameters = ['kid', 'exp', 'sig'] as const;

/** Names that no helper may use, because the gateway reads them itself. */
export function reservedNames(files: readonly Pick<FileField, 'field' | 'parameter'>[]): string[] {
  const ofFiles = files.flatMap(({ field, parameter }) => [parameter, field]);
  return [...new Set(['ak', ...signatureParameters, 'dryrun', ...ofFiles])];
}

/** Which files were given, and how. */
interface FilesGiven {
  /** Whether a parameter was sent, with whatever value. */
  has: (parameter: string) => boolean;
  /** Multipart fields with a file. */
  uploaded: readonly string[];
  /** Whether a file was refused: it has its problem, and a missing file would be a second one for the same mistake. */
  hasLost: boolean;
  /** Lifts what is required. */
  dryrun: boolean;
  /** What a parameter allows, as a noun. */
  allowed: (parameter: string) => string;
}

/**
 * A file is given once, as an upload or by its url. Except in a dry run, a required one must be given, and so must either a file or
 * the parameter that it may replace.
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
    const given = nameGiven(file, { has, uploaded });
    if (has(insteadOf)) {
      if (given === undefined) return undefined;
      return {
        field: given,
        problem: `is sent together with ${insteadOf}; send only one of ${insteadOf} and ${given}`,
      };
    }
    if (given !== undefined || hasLost || dryrun) return undefined;
    return {
      field: insteadOf,
      problem: `is required: ${allowed(insteadOf)}; or in its place ${howToSend(file)}`,
    };
  }
}

/** Parameters that mean nothing beside a file, or without one; one problem each. */
export function pointlessProblems(files: readonly FileField[], sent: FilesGiven): FieldProblem[] {
  const { has, hasLost, dryrun } = sent;
  const problems = new Map<string, FieldProblem>();
  for (const file of files) {
    const { field, parameter, insteadOf, notWith = [], options = [] } = file;
    const given = nameGiven(file, sent);
    const isMissing = given === undefined && !hasLost && (insteadOf === undefined ? !dryrun : has(insteadOf));
    const names = field === parameter ? field : `${parameter} or ${field}`;
    const pointless: [readonly string[], string][] = [
      [given === undefined ? [] : notWith, `means nothing beside ${given}`],
      [isMissing ? options : [], `means nothing without ${names}`],
    ];
    for (const [parameters, problem] of pointless) {
      for (const name of parameters.filter(has)) problems.set(name, { field: name, problem });
    }
  }
  return [...problems.values()];
}

/** The name under which a file was given. */
function nameGiven(
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
