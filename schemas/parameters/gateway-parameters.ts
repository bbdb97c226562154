import type { FileField } from '../declared-helper.js';
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
