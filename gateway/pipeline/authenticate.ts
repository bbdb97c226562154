import type { IncomingHttpHeaders } from 'node:http';
import { signatureParameters } from '../../schemas/declared-helper.js';
import { parseUrlencoded, type QueryText } from '../../schemas/input/parse.js';
import { errorTable, GatewayError, inputError } from '../errors.js';
import { bearerToken } from '../http/request.js';
import type { KeyStatus, KeyVerifier } from '../keys/verifier.js';
import { isSignedBy, readSigned, signedText } from '../signing/signed-url.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import type { CallContext, Caller, HttpCall, Stage } from './stage.js';

/** Finds the caller by key (`ak`, else `Authorization: Bearer`) or signature. Hands on the query without either. */
export function authenticate(
  keys: Pick<KeyVerifier, 'verify'>,
  authenticateSigned?: AuthenticateSigned,
): Stage<HttpCall, { caller: Caller; query: QueryText }> {
  return async function authenticate({ ctx, state }, next) {
    const query = parseUrlencoded(ctx.querystring);
    const enter = (verdict: KeyStatus, signedUntil?: number) => {
      const caller = callerOf(verdict);
      if (signedUntil !== undefined) caller.signedUntil = signedUntil;
      state.caller = caller;
      return next({ caller, query });
    };

    if (authenticateSigned && hasSignature(query)) {
      const { verdict, signedUntil } = await authenticateSigned(ctx, query);
      return enter(verdict, signedUntil);
    }
    const key = keyOf(ctx, query);
    if (!key) {
      // The signature was cut off, or its name was changed.
      const isHalfSigned = query.values.has('kid') || query.values.has('exp');
      if (authenticateSigned && isHalfSigned) throw new GatewayError('signature_invalid');
      throw new GatewayError('key_missing', { message: missingKeyMessage(ctx.headers, query.values) });
    }
    // Neither a plugin nor a message that lists parameters may see it.
    query.values.delete('ak');
    return enter(await keys.verify(key));
  };
}

/** The caller of a request that needs no key; undefined without a valid one. */
export async function callerIfAny(
  ctx: CallContext,
  keys: Pick<KeyVerifier, 'verify'>,
): Promise<Caller | undefined> {
  try {
    const key = keyOf(ctx, parseUrlencoded(ctx.querystring));
    return key === undefined ? undefined : callerOf(await keys.verify(key));
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function keyOf(ctx: CallContext, { values, problems }: QueryText): string | undefined {
  const problem = problems.find(({ field }) => field === 'ak');
  if (problem) throw inputError([problem]);
  return values.get('ak') || bearerToken(ctx.get('authorization')) || undefined;
}

const refusals = {
  malformed: 'key_invalid',
  unknown: 'key_invalid',
  expired: 'key_expired',
  revoked: 'key_revoked',
  paused: 'key_paused',
  suspended: 'tenant_suspended',
} as const;

/** Throws unless the key is active. */
export function callerOf(verdict: KeyStatus): Caller {
  if (verdict.state !== 'active') throw new GatewayError(refusals[verdict.state]);
  const { tenant, key } = verdict;
  return { tenant, keyId: key.id, keyLimits: key.limits, scopes: key.scopes };
}

/** Names for keys in other APIs, in lower case. */
const queryNames = 'api_key apikey api-key key token access_token auth x-api-key'.split(' ');
const headerNames = 'x-api-key api-key apikey x-auth-token x-access-token'.split(' ');

/** Says what looks like a key, by the names above: the value is a secret, and a name as sent could be the key. */
function missingKeyMessage(headers: IncomingHttpHeaders, query: ReadonlyMap<string, string>): string {
  const sent = new Set([...query.keys()].map((name) => name.toLowerCase()));
  const seen = [
    ...inAuthorization(headers.authorization),
    ...headerNames.filter((name) => headers[name] !== undefined).map((name) => `the header ${name}`),
    ...queryNames.filter((name) => sent.has(name)).map((name) => `the query parameter ${name}`),
    ...(sent.has('ak') && !query.has('ak') ? ['a query parameter ak in capital letters'] : []),
  ];
  const read = errorTable.key_missing.message;
  if (seen.length === 0 && query.has('ak'))
    return `No key was found: the query parameter ak is empty. ${read}`;
  if (seen.length === 0) return read;
  return `No key was found: ${seen.join(' and ')} ${seen.length === 1 ? 'is' : 'are'} not read. ${read}`;
}

function inAuthorization(value = ''): string[] {
  if (value === '') return [];
  const [scheme = '', ...rest] = value.trim().split(/\s+/);
  if (/^bearer$/i.test(scheme)) return ['an Authorization: Bearer header that is not followed by one key'];
  if (/^basic$/i.test(scheme)) return ['an Authorization: Basic header'];
  return [`an Authorization header ${rest.length === 0 ? 'without Bearer' : 'of another scheme'}`];
}

interface SignedVerdict {
  verdict: KeyStatus;
  signedUntil: number;
}

type AuthenticateSigned = (ctx: CallContext, query: QueryText) => Promise<SignedVerdict>;

/** Finds the caller of a signed url. All faults of a signature get one answer; only a valid one gets detail. */
export function authenticateSigned(
  keys: Pick<KeyVerifier, 'verifySigned'>,
  signing: SigningSecrets,
  now: () => number = Date.now,
): AuthenticateSigned {
  return async function authenticateSigned(ctx, query) {
    refuseOthers(ctx, query);
    const signed = readSigned(query);
    if (!signed) throw new GatewayError('signature_invalid');
    // Before any look-up, which would reveal whether a key exists.
    signing.requireMaster();
    const { kid, exp, sig } = signed;
    const text = signedText({ path: ctx.path, values: query.values });
    const isSigned = (version: number) => {
      if (!isSignedBy(signing.all(kid, version), text, sig)) return false;
      if (exp * 1000 <= now()) throw new GatewayError('signature_expired');
      return true;
    };
    const verdict = await keys.verifySigned(kid, isSigned);
    if (verdict.state === 'unknown' || verdict.state === 'malformed')
      throw new GatewayError('signature_invalid');
    for (const name of signatureParameters) query.values.delete(name);
    const until = verdict.state === 'active' ? verdict.until : undefined;
    return { verdict, signedUntil: until === undefined ? exp : Math.min(exp, until / 1000) };
  };
}

function refuseOthers(ctx: CallContext, { values }: QueryText): void {
  if (ctx.state.helper?.declaration.effects) {
    throw wrongSignature(
      'must not be sent: a signed url is for GET and HEAD, and this helper takes POST alone; send a key',
    );
  }
  if (ctx.method === 'POST') {
    const message = 'A signed url is for GET and HEAD. Send a key with POST, and leave out sig.';
    throw new GatewayError('method_not_allowed', { message, headers: { allow: 'GET, HEAD' } });
  }
  if (values.has('ak'))
    throw inputError([{ field: 'ak', problem: 'must not stand beside sig: send a key or a signature' }]);
  if (bearerToken(ctx.get('authorization')) !== undefined)
    throw wrongSignature('must not stand beside a key in Authorization: send a key or a signature');
}

const wrongSignature = (problem: string) => inputError([{ field: 'sig', problem }]);

/** Whether a query is meant to be a signed one: whatever its signature is, it is there. */
function hasSignature({ values, problems }: QueryText): boolean {
  return values.has('sig') || problems.some(({ field }) => field === 'sig');
}
