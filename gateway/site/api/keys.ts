import type { KeyInputs } from '../../keys/inputs.js';
import { type ApiRoute, defineRoute } from './route.js';
import {
  all,
  described,
  limit,
  listOf,
  nextSchema,
  nullableText,
  nullableTime,
  ref,
  scopesSchema,
  shape,
  stringSchema,
  timeSchema,
} from './shapes.js';

const keysSchema = shape({ keys: listOf(ref('Key')), previous: nextSchema, next: nextSchema });

/** Keys and what signs urls for them. */
export function keyRoutes(inputs: KeyInputs): ApiRoute[] {
  return [
    defineRoute('POST /api/tenants/:name/keys', 'issueKey', {
      summary: 'Issues a key; it is in this answer and nowhere else.',
      body: inputs.key,
      data: ref('IssuedKey'),
      run: ({ site, params, body, actor }) => site.admin.issueKey(params.name ?? '', body, actor),
    }),
    defineRoute('GET /api/tenants/:name/keys', 'listKeys', {
      summary: "Lists a tenant's keys, by default oldest first and revoked ones too, without their secrets.",
      query: inputs.keyList,
      data: keysSchema,
      run: ({ site, params, query }) => site.admin.listKeys(params.name ?? '', query),
    }),
    defineRoute('GET /api/keys', 'searchKeys', {
      summary: 'Lists keys of all tenants, by default newest first and without revoked ones.',
      query: inputs.keySearch,
      data: keysSchema,
      run: ({ site, query }) => site.admin.searchKeys(query),
    }),
    defineRoute('POST /api/keys/find', 'findKey', {
      summary: 'Finds a key by its whole secret, current or in its grace.',
      reads: true,
      body: inputs.secret,
      data: ref('Key'),
      run: ({ site, body }) => site.admin.findKey(body),
    }),
    defineRoute('GET /api/keys/:id', 'getKey', {
      summary: 'Shows a key without its secrets.',
      data: ref('Key'),
      run: ({ site, params }) => site.admin.key(params.id ?? ''),
    }),
    defineRoute('POST /api/keys/:id/rotate', 'rotateKey', {
      summary: 'Makes a new secret for a key; the old one lives on for the grace.',
      body: inputs.rotation,
      data: ref('RotatedKey'),
      run: ({ site, params, body, actor }) => site.admin.rotateKey(params.id ?? '', body, actor),
    }),
    defineRoute('POST /api/keys/:id/end-grace', 'endGrace', {
      summary: 'Ends every secret of a key but the current one.',
      body: inputs.nothing,
      data: ref('Key'),
      run: ({ site, params, actor }) => site.admin.endGrace(params.id ?? '', actor),
    }),
    defineRoute('POST /api/keys/:id/signing-secret', 'showSigningSecret', {
      summary: 'Shows what signs urls for a key, which the audit log notes.',
      body: inputs.nothing,
      data: ref('SigningSecret'),
      run: ({ site, params, actor }) => site.admin.signingSecret(params.id ?? '', actor),
    }),
    defineRoute('POST /api/keys/:id/rotate-signing', 'rotateSigning', {
      summary: 'Gives a key another signing secret; urls that were signed before open nothing any more.',
      body: inputs.nothing,
      data: ref('SigningSecret'),
      run: ({ site, params, actor }) => site.admin.rotateSigning(params.id ?? '', actor),
    }),
    defineRoute('PATCH /api/keys/:id', 'editKey', {
      summary: 'Changes a key, and pauses or resumes it; what is left out stays.',
      body: inputs.keyChanges,
      data: ref('Key'),
      run: ({ site, params, body, actor }) => site.admin.editKey(params.id ?? '', body, actor),
    }),
    defineRoute('DELETE /api/keys/:id', 'revokeKey', {
      summary: 'Revokes a key for good.',
      data: ref('Key'),
      run: ({ site, params, actor }) => site.admin.revokeKey(params.id ?? '', actor),
    }),
  ];
}

export const keyShapes = {
  Key: shape({
    id: stringSchema,
    tenant: described(stringSchema, "Its tenant's name."),
    label: nullableText,
    scopes: scopesSchema,
    limits: described(
      shape(all(limit, 'rate', 'monthly_quota', 'monthly_cpu_ms')),
      "Of its own, below the tenant's; null is no limit of its own.",
    ),
    state: { type: 'string', enum: ['active', 'paused', 'expired', 'revoked'] },
    hint: described(stringSchema, 'First and last characters of the current secret.'),
    created_at: timeSchema,
    ...all(nullableTime, 'expires_at', 'revoked_at', 'paused_at', 'last_used_at'),
    secrets: listOf(
      shape({ id: stringSchema, hint: stringSchema, created_at: timeSchema, expires_at: nullableTime }),
    ),
  }),
  IssuedKey: shape({
    id: stringSchema,
    key: described(stringSchema, 'The key itself, this once.'),
    tenant: stringSchema,
    label: nullableText,
    scopes: scopesSchema,
    expires_at: nullableTime,
    signing_secret: described(
      nullableText,
      'What signs urls for it; null where the gateway has no master secret.',
    ),
  }),
  RotatedKey: shape({
    id: stringSchema,
    key: described(stringSchema, 'The new secret, this once.'),
    previous_expires_at: described(timeSchema, 'When the secret that was current until now stops working.'),
  }),
  SigningSecret: shape({
    id: described(stringSchema, "The key's id, which stands in the urls as `kid`."),
    signing_secret: described(stringSchema, 'The current one; it stays in force until the next rotation.'),
  }),
};

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
