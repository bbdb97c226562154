/** The fields of answers, by their names among the document's components. */
export const headers = {
  'X-Request-Id': {
    description: 'Id of this call, the same as `meta.request_id`; the log of the gateway has it too.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'What is left of the tenant’s limits: `r` units, `t` seconds until there are more (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string' },
    example: '"rate";r=49;t=1',
  },
  'RateLimit-Policy': {
    description: 'The tenant’s limits: `q` units in `w` seconds.',
    schema: { type: 'string' },
    example: '"rate";q=50;w=1',
  },
  'Retry-After': {
    description: 'Seconds after which to try again.',
    schema: { type: 'integer', minimum: 0 },
  },
  'WWW-Authenticate': { description: 'How to send the key.', schema: { type: 'string' } },
  Allow: { description: 'The methods that this path takes.', schema: { type: 'string' } },
} as const;

export type HeaderName = keyof typeof headers;

/** What of the tenant's limits is left. */
export const limitHeaders: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy'];

/** References to these fields; every answer has its request's id. */
export function headersOf(names: readonly HeaderName[]): Record<string, { $ref: string }> {
  const all: HeaderName[] = ['X-Request-Id', ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
