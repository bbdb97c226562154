/** The parameters that the gateway adds to a helper's own. */
export const dryrunParameter = {
  type: 'boolean',
  description: 'Checks the input and answers with JSON; what is required may be left out.',
} as const;

/** Added for helpers with `source: 'image'`, where an upload as the multipart field `file` may take its place. */
export const urlParameter = {
  type: 'string',
  minLength: 1,
  maxLength: 8192,
  description: 'Public https address of the picture; in its place the multipart field file takes an upload.',
} as const;

/** Names that no helper may give to a parameter, for the gateway reads them itself. */
export function reservedNames(source: unknown): string[] {
  return source === 'image' ? ['ak', 'dryrun', 'url', 'file'] : ['ak', 'dryrun'];
}
