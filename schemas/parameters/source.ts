import type { FieldProblem } from '../problem.js';

/** A helper that takes a picture needs exactly one of `url` and `file`, or neither in a dry run; others take no file. */
export function sourceProblems(
  hasUrl: boolean,
  hasFile: boolean,
  dryrun: boolean,
  takesImage: boolean,
): FieldProblem[] {
  if (!takesImage) {
    return hasFile
      ? [{ field: 'file', problem: 'is not taken by this helper, which works without a file' }]
      : [];
  }
  if (hasUrl && hasFile) {
    return [
      { field: 'url', problem: 'is sent together with an uploaded file; send only one of url and file' },
    ];
  }
  if (hasUrl || hasFile || dryrun) return [];
  return [{ field: 'url', problem: 'is required: send the url of a picture, or upload one as file' }];
}
