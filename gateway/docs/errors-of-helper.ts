import type { DeclaredHelper } from '../../schemas/declared-helper.js';
import { type ErrorCode, type ErrorEntry, errorTable } from '../errors.js';

/** An error that a helper's call may be answered with. */
export interface PossibleError {
  code: ErrorCode;
  status: number;
  message: string;
}

/** Errors that only the key-management site answers with. */
export const ofTheSite: readonly string[] = ['unauthorized', 'forbidden', 'exists'] satisfies ErrorCode[];
/** Of helpers that are given files. */
const ofFiles: readonly ErrorCode[] = ['source_refused', 'source_failed', 'source_timeout'];
/** Of helpers that are given pictures. */
const ofPictures: readonly ErrorCode[] = ['bad_image', 'image_too_large'];

/** The errors of the table that a call of this helper can come to, by status. */
export function errorsOfHelper({ files }: Pick<DeclaredHelper, 'files'>): PossibleError[] {
  const takesPictures = files.some(({ kind }) => kind === 'image');
  const never = new Set<string>([
    ...ofTheSite,
    ...(files.length === 0 ? ofFiles : []),
    ...(takesPictures ? [] : ofPictures),
  ]);
  const entries = Object.entries(errorTable) as [ErrorCode, ErrorEntry][];
  return entries
    .filter(([code]) => !never.has(code))
    .map(([code, { status, message }]) => ({ code, status, message }))
    .sort((one, other) => one.status - other.status);
}
