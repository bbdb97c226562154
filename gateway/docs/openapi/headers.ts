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
  ETag: {
    description:
      'Of a picture that was made of a picture: the same wherever the same is made of the same. Sent back in `If-None-Match` of a GET it spares the client the bytes.',
    schema: { type: 'string' },
    example: '"945GCnFXf9jHdZUZTZnZT-hSsZKRNZp1xYOk_AqJYMo"',
  },
  'Cache-Control': {
    description:
      'How long an answer may be kept: that of a signed url as `public, max-age=…`, no longer than the url holds; any other not at all.',
    schema: { type: 'string' },
  },
  'X-Cache': {
    description:
      'How the picture was come by: it was kept (`hit`), made (`miss`), or just being made for another call of the tenant (`shared`).',
    schema: { type: 'string', enum: ['hit', 'miss', 'shared'] },
  },
  Location: { description: 'The path of what has been made.', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: '`true` where the same request was answered before, with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  Allow: { description: 'The methods that this path takes.', schema: { type: 'string' } },
} as const;

export type HeaderName = keyof typeof headers;

/** What of the tenant's limits is left. */
export const limitHeaders: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy'];

/** What is said of a picture that may be used again. */
export const reuseHeaders: readonly HeaderName[] = ['ETag', 'Cache-Control', 'X-Cache'];

/** References to these fields; every answer has its request's id. */
export function headersOf(names: readonly HeaderName[]): Record<string, { $ref: string }> {
  const all: HeaderName[] = ['X-Request-Id', ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
