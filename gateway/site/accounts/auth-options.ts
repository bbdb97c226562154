import type { BetterAuthOptions } from 'better-auth';
import { getSessionFromCtx } from 'better-auth/api';
import { leastPassword, mostPassword } from './new-account.js';

const sessionSeconds = 24 * 3600;
const refreshSeconds = 3600;

export interface AuthSettings {
  secret: string;
  baseUrl: string;
  /** Whether cookies go over https alone. */
  secureCookies: boolean;
}

/** better-auth's settings without its database. */
export function authOptions({ secret, baseUrl, secureCookies }: AuthSettings) {
  return {
    appName: 'helper-gateway',
    secret,
    baseURL: baseUrl,
    telemetry: { enabled: false },
    // Otherwise it prints what goes wrong, among the lines of the log.
    onAPIError: { throw: true },
    user: {
      modelName: 'connect_users',
      // The cookie that leads back from the provider says whose account is to be connected, and the secret that seals it lies
      // in the database: whoever reads a backup could connect an account of their own to an operator's.
      async validateUserInfo({ user, source }, context) {
        if (source.action !== 'link-account') return;
        const session = await getSessionFromCtx(context);
        if (session?.user.id !== user.id) return { error: 'unable_to_link_account' };
      },
    },
    basePath: '/auth',
    rateLimit: { enabled: false },
    account: {
      modelName: 'connect_accounts',
      // Else everybody who asks for the way to the provider leaves a row behind, with the secret half of its PKCE pair in clear.
      storeStateStrategy: 'cookie',
      // Connecting is done by the person who is signed in, and never by an e-mail that is the same: nobody has verified the
      // e-mail of an account here, so it could have been made in somebody else's name.
      accountLinking: {
        enabled: true,
        disableImplicitLinking: true,
        allowDifferentEmails: true,
        trustedProviders: ['oidc'],
      },
    },
    session: { modelName: 'connect_sessions', expiresIn: sessionSeconds, updateAge: refreshSeconds },
    verification: { modelName: 'connect_verifications' },
    // Accounts are made from invitations alone.
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: leastPassword,
      maxPasswordLength: mostPassword,
    },
    advanced: { cookiePrefix: 'hg', useSecureCookies: secureCookies },
  } satisfies BetterAuthOptions;
}
