import type { FileField } from '../declared-helper.js';
import type { JsonSchema } from '../json-schema.js';

/** The parameters that the gateway adds to a helper's own. */
export const dryrunParameter = {
  type: 'boolean',
  description: 'Checks the input and answers with JSON; what is required may be left out.',
} as const;

/** What a parameter that holds the url of a file takes. */
export const urlParameter = { type: 'string', minLength: 1, maxLength: 8192 } as const;

/** Added for each file that a helper takes, where an upload as its multipart field may take its place. */
export function fileParameter({ field, kind, description }: FileField): JsonSchema {
  const what = kind === 'image' ? 'picture' : 'file';
  const how = `Public https address of the ${what}; in its place the multipart field ${field} takes an upload.`;
  return { ...urlParameter, description: description === undefined ? how : `${description} ${how}` };
}

/** What a signed url has beside a helper's parameters: the key's id, when it ends, and the signature. */
export const signatureParameters = ['kid', 'exp', 'sig'] as const;

/** Names that no helper may give to a parameter, for the gateway reads them itself. */
export function reservedNames(files: readonly Pick<FileField, 'field' | 'parameter'>[]): string[] {
  const ofFiles = files.flatMap(({ field, parameter }) => [parameter, field]);
  return [...new Set(['ak', ...signatureParameters, 'dryrun', ...ofFiles])];
}
