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
  const found = files.flatMap((file) => [problemOf(file) ?? insteadProblem(file), ...optionProblems(file)]);
  return [...unknown, ...found.filter((problem) => problem !== undefined)];

  /** The name by which a file came. */
  function cameAs({ field, parameter }: FileField): string | undefined {
    if (has(parameter)) return parameter;
    return uploaded.includes(field) ? field : undefined;
  }

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
    const came = cameAs(file);
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

  /** What was sent beside a file that it means nothing with, or without the one that it is about. */
  function optionProblems(file: FileField): FieldProblem[] {
    const { field, insteadOf, notWith = [], options = [] } = file;
    const came = cameAs(file);
    const tell = (names: readonly string[], problem: string) =>
      names.filter(has).map((name) => ({ field: name, problem }));
    if (came !== undefined) return tell(notWith, `means nothing beside ${came}`);
    const isMissing = insteadOf === undefined ? !dryrun : has(insteadOf);
    return isMissing && !hasLost ? tell(options, `means nothing without ${field}`) : [];
  }
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
