import type { FieldProblem } from '../field-problem.js';

/**
 * A helper that takes a picture needs exactly one of `url` and `file`, or neither in a dry run; others take no file. A file that
 * came and could not be taken (`hasLostFile`) has its problem: that there is none would be another for the same mistake.
 */
export function sourceProblems(
  hasUrl: boolean,
  hasFile: boolean,
  dryrun: boolean,
  takesImage: boolean,
  hasLostFile = false,
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
  if (hasUrl || hasFile || hasLostFile || dryrun) return [];
  return [{ field: 'url', problem: 'is required: send the url of a picture, or upload one as file' }];
}
