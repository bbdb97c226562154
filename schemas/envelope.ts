const meta = {
  type: 'object',
  required: ['service', 'dryrun', 'request_id'],
  additionalProperties: false,
  properties: {
    service: {
      type: ['string', 'null'],
      pattern: '^[^/]+(/[^/]+)*$',
      examples: ['text/remove-stopwords'],
      description: 'Id of the helper, e.g. text/remove-stopwords; null where the path is no helper.',
    },
    dryrun: { type: 'boolean', examples: [false] },
    request_id: {
      type: 'string',
      minLength: 1,
      examples: ['32195114-4cee-4143-b277-53da35209473'],
      description: 'The same as in the header x-request-id.',
    },
  },
} as const;

/** JSON Schema of every success that is not bytes. */
export const successSchema = {
  type: 'object',
  required: ['ok', 'data', 'meta'],
  additionalProperties: false,
  properties: {
    ok: { const: true },
    data: { type: 'object', description: 'The result; its fields depend on the helper.' },
    meta,
  },
} as const;

/** JSON Schema of every failure, on every path. */
export const failureSchema = {
  type: 'object',
  required: ['ok', 'error', 'meta'],
  additionalProperties: false,
  properties: {
    ok: { const: false },
    error: {
      type: 'object',
      required: ['code', 'message'],
      additionalProperties: false,
      properties: {
        code: { type: 'string', examples: ['invalid_input'], pattern: '^[a-z]+(_[a-z]+)*$' },
        message: {
          type: 'string',
          minLength: 1,
          description:
            'What is wrong, for a person; where several problems are in details, that there are some.',
          examples: ['width must be an integer from 0 to 5000, but is the number 5001'],
        },
        details: {
          type: 'array',
          description: 'Every problem of the input.',
          items: {
            type: 'object',
            required: ['field', 'problem'],
            additionalProperties: false,
            properties: {
              field: { type: 'string', minLength: 1, examples: ['width'] },
              problem: { type: 'string', minLength: 1, examples: ['must be an integer from 0 to 5000'] },
            },
          },
        },
      },
    },
    meta,
  },
} as const;
