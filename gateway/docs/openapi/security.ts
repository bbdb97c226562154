import { signatureParameters } from '../../../schemas/parameters/gateway-parameters.js';

/** What a call may say of who it is by, as the document's components. */
export const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'The API key in the header Authorization.' },
  ak: { type: 'apiKey', in: 'query', name: 'ak', description: 'The API key in the address.' },
  kid: inAddress(
    'kid',
    'Of a signed url: the id of the key that signed it. `kid`, `exp` and `sig` go together.',
  ),
  exp: inAddress('exp', 'Of a signed url: when it ends, in whole seconds since 1970.'),
  sig: inAddress(
    'sig',
    'Of a signed url: base64url of HMAC-SHA256, by the signing secret of the key, over `hg1`, the path and the sorted query.',
  ),
} satisfies Record<'bearer' | 'ak' | (typeof signatureParameters)[number], object>;

type Requirement = Record<string, never[]>;

/** A key, in one of two places. */
export const byKey: Requirement[] = [{ bearer: [] }, { ak: [] }];

/** Or the three parameters of a signed url, which is for GET and HEAD alone. */
export const byKeyOrSignature: Requirement[] = [
  ...byKey,
  Object.fromEntries(signatureParameters.map((name) => [name, []])),
];

function inAddress(name: string, description: string) {
  return { type: 'apiKey', in: 'query', name, description };
}
