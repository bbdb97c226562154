import type { FileField } from '../declared-helper.js';
import type { FieldProblem } from '../field-problem.js';

/** What came for a helper's files. */
export interface FilesGiven {
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
  const unknown = uploaded.filter((field) => !known.has(field)).map((field) => notTaken(field, files));
  const found = files.map((file) => problemOf(file) ?? insteadProblem(file));
  return [...unknown, ...found.filter((problem) => problem !== undefined)];

  function problemOf(file: FileField): FieldProblem | undefined {
    const { field, parameter, required } = file;
    const hasUrl = has(parameter);
    const hasFile = uploaded.includes(field);
    if (hasUrl && hasFile) return { field: parameter, problem: sentTwice(file) };
    if (hasUrl || hasFile || hasLost || dryrun || !required) return undefined;
    return { field: parameter, problem: missing(file) };
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
      problem: `is required: ${allowed(insteadOf)}; or in its place ${sendingOf(file)}`,
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

function notTaken(field: string, files: readonly FileField[]): FieldProblem {
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

function missing(file: FileField): string {
  return `is required: ${sendingOf(file)}`;
}

function sendingOf({ field, parameter, kind }: FileField): string {
  const what = kind === 'image' ? 'a picture' : 'a file';
  return field === parameter
    ? `send the url of ${what}, or upload one in the multipart field ${field}`
    : `send the url of ${what}${parameter === 'url' ? '' : ` as ${parameter}`}, or upload one as ${field}`;
}
