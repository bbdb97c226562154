import type { KeyInputs } from '../../keys/inputs.js';
import { type ApiRoute, defineRoute } from './route.js';
import { all, described, listOf, nullableTime, ref, shape, stringSchema, timeSchema } from './shapes.js';

/** Tokens of programs for this API. */
export function tokenRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    defineRoute('POST /api/tokens', 'createToken', {
      summary: 'Makes an API token; it is in this answer and nowhere else.',
      body: inputs.token,
      data: ref('NewToken'),
      run: ({ site, body, actor }) => site.tokens.create(body, actor),
    }),
    defineRoute('GET /api/tokens', 'listTokens', {
      summary: 'Lists the API tokens, newest first, without their secrets.',
      data: shape({ tokens: listOf(ref('Token')) }),
      run: async ({ site }) => ({ tokens: await site.tokens.list() }),
    }),
    defineRoute('DELETE /api/tokens/:id', 'revokeToken', {
      summary: 'Revokes an API token for good.',
      data: ref('Token'),
      run: ({ site, params, actor }) => site.tokens.revoke(params.id ?? '', actor),
    }),
  ];
}

const tokenProperties = {
  ...all(stringSchema, 'id', 'label'),
  role: { type: 'string', enum: ['operator', 'support'] },
  created_at: timeSchema,
  created_by: described(stringSchema, 'Who made it, as the audit log names them.'),
  expires_at: nullableTime,
  last_used_at: described(nullableTime, 'To the minute.'),
};

export const tokenShapes = {
  Token: shape(tokenProperties),
  NewToken: shape({ ...tokenProperties, token: described(stringSchema, 'The token itself, this once.') }),
};
