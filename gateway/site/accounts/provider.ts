import { createHmac, randomBytes } from 'node:crypto';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  ResponseBodyError,
} from 'openid-client';
import type { Logger } from 'pino';
import { once } from '../../../pool/concurrency.js';
import { GatewayError } from '../../errors.js';
import type { WithCookies } from './account.js';
import { siteCookie } from './account.js';

/** An identity provider: the address above its discovery document, and what people call it, e.g. `Okta`. */
export type OidcOptions = Record<'issuer' | 'clientId' | 'clientSecret' | 'name', string>;

interface ProviderOptions extends OidcOptions {
  secret: string;
  baseUrl: string;
  secureCookies: boolean;
  logger: Pick<Logger, 'warn'>;
  now?: (() => number) | undefined;
}

/** Whether the visit was to connect an account, and who it was, where visit and answer count. */
type Return = WithCookies & { connects: boolean; subject?: string | undefined };

const visitSeconds = 600;

/**
 * Code flow with PKCE. A visit is derived from a random value in a cookie; one that connects an account also from the
 * session's token, which no back-up has: its reader could connect an account of their own.
 */
export function createProvider(options: ProviderOptions) {
  const { issuer, clientId, clientSecret, name, secret, baseUrl, now = Date.now } = options;
  const cookie = siteCookie('hg_visit', options.secureCookies);
  const redirect_uri = new URL('/auth/callback/oidc', baseUrl).href;
  const configure = once(() => {
    const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const insecure = new URL(issuer).protocol === 'http:' ? [allowInsecureRequests] : [];
    const execute = [enableNonRepudiationChecks, ...insecure];
    // Ten seconds for each request to the provider.
    return discovery(new URL(address), clientId, clientSecret, undefined, { execute, timeout: 10 });
  });

  function derive(what: 'state' | 'nonce' | 'verifier', visit: string, session = ''): string {
    const text = `visit\n${what}\n${visit}\n${session}`;
    return createHmac('sha256', secret).update(text).digest('base64url');
  }

  return {
    /** The provider's url, to sign in or, with a session's token, to connect; undefined where it is down. */
    async leave(session?: string): Promise<(WithCookies & { url: string }) | undefined> {
      try {
        const visit = `${randomBytes(16).toString('base64url')}.${now() + visitSeconds * 1000}`;
        const url = buildAuthorizationUrl(await configure(), {
          redirect_uri,
          scope: 'openid email profile',
          state: derive('state', visit, session),
          nonce: derive('nonce', visit),
          code_challenge: await calculatePKCECodeChallenge(derive('verifier', visit)),
          code_challenge_method: 'S256',
        });
        return { url: url.href, cookies: [cookie.set(visit, visitSeconds)] };
      } catch (error) {
        options.logger.warn({ err: error }, 'the identity provider does not answer');
        return undefined;
      }
    },

    /** Ends a visit; rejects with `upstream_failed` where the provider fails. */
    async arrive(query: string, header: string, session: string | undefined): Promise<Return> {
      const visit = cookie.read(header) ?? '';
      const sent = new URLSearchParams(query);
      const state = sent.get('state') ?? '';
      const isFresh = Number(visit.split('.')[1]) > now();
      const signsIn = state === derive('state', visit);
      const back: Return = { connects: session !== undefined && !signsIn, cookies: [cookie.set('', 0)] };
      const isKnown = signsIn || state === derive('state', visit, session);
      // An error in the query is the visitor's or the provider's word, and no failure that was seen here.
      if (!isFresh || !isKnown || !sent.has('code') || sent.has('error')) return back;
      try {
        const tokens = await authorizationCodeGrant(await configure(), new URL(`${redirect_uri}?${query}`), {
          pkceCodeVerifier: derive('verifier', visit),
          expectedState: state,
          expectedNonce: derive('nonce', visit),
          idTokenExpected: true,
        });
        return { ...back, subject: tokens.claims()?.sub };
      } catch (error) {
        // OAuth's answer to a code that is used, old or made up.
        if (error instanceof ResponseBodyError && error.status === 400) return back;
        throw new GatewayError('upstream_failed', {
          message: `${name} did not answer as it should. Try again in a moment, or sign in with your password.`,
          cause: error,
        });
      }
    },
  };
}
