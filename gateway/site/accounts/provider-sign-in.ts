import { quote } from '../../../schemas/quote.js';
import { GatewayError } from '../../errors.js';
import type { Audited } from './audited.js';
import type { Auth, Beneath, OidcOptions } from './auth.js';
import { refusable } from './refusable.js';
import { actorOf, type Session, type WithCookies } from './session.js';
import type { SignInLog } from './sign-in-log.js';

/** What came of a way to the provider and back: of one to sign in, and of one to connect an account. */
export type Returned = 'signed_in' | 'not_signed_in' | 'connected' | 'not_connected';

/** Signing in through an identity provider, with an account that was connected with it. */
export interface ProviderSignIn {
  /** The way to the provider, to sign in or, with a session's cookie, to connect; undefined where it does not answer. */
  toProvider(cookie?: string): Promise<(WithCookies & { url: string }) | undefined>;
  /** The way back from it, with this query. Rejects with `upstream_failed` where the provider does not do its part. */
  fromProvider(query: string, cookie: string, address: string): Promise<WithCookies & { returned: Returned }>;
}

export interface ProviderSignInOptions {
  openAuth: () => Promise<Auth>;
  log: SignInLog;
  baseUrl: string;
  oidc?: Pick<OidcOptions, 'name'> | undefined;
  session: (cookie: string) => Promise<{ session: Session } | undefined>;
}

const connecting = '/account';

export function createProviderSignIn(options: ProviderSignInOptions): ProviderSignIn {
  const { openAuth, log, baseUrl, session } = options;
  const through = options.oidc?.name ?? 'OpenID Connect';

  return {
    async toProvider(cookie) {
      const start = cookie === undefined ? '/sign-in' : connecting;
      const body = { provider: 'oidc', callbackURL: start, errorCallbackURL: start, disableRedirect: true };
      return refusable(async () => {
        const auth = await openAuth();
        return auth.call(async () => {
          const { headers, response } =
            cookie === undefined
              ? await auth.api.signInSocial({ body, returnHeaders: true })
              : await auth.api.linkSocialAccount({
                  body,
                  headers: new Headers({ cookie }),
                  returnHeaders: true,
                });
          if (!response.url) return undefined;
          return { url: response.url, cookies: headers.getSetCookie() };
        });
      });
    },
    async fromProvider(query, cookie, address) {
      const auth = await openAuth();
      const answered = await refusable(() =>
        auth.call(async (beneath) => {
          const url = new URL(`/auth/callback/oidc?${query}`, baseUrl);
          const { headers } = await auth.handler(new Request(url, { headers: { cookie } }));
          const to = new URL(headers.get('location') ?? '/?error=none', baseUrl);
          // An error that the query brings is the visitor's or the provider's word, and no fault that was seen here.
          if (!url.searchParams.has('error')) refuseProviderFault(to, beneath, through);
          return { to, cookies: headers.getSetCookie() };
        }),
      );
      const { to, cookies } = answered ?? { to: new URL('/?error=refused', baseUrl), cookies: [] };
      const failed = to.searchParams.has('error');
      if (to.pathname === connecting) return { returned: failed ? 'not_connected' : 'connected', cookies };
      const opened = cookies.find((header) => header.startsWith(`${auth.sessionCookie}=`));
      const found = opened && (await session(opened.split(';', 1)[0] ?? ''));
      if (!found) {
        await log.failed(undefined, { address, through });
        return { returned: 'not_signed_in', cookies };
      }
      // After the session was written, and before anybody has its token: see `signIn`.
      await log.succeeded(found.session.user, { address, through });
      return { returned: 'signed_in', cookies };
    },
  };
}

/**
 * Notes that an account is being connected with one of the provider's. better-auth writes the row in no transaction of ours,
 * and it is a way in at once; so the entry comes first, and where it fails there is no row.
 */
export async function noteConnection(
  audited: Audited,
  { userId, accountId, through }: { userId: string; accountId: string; through: string | undefined },
): Promise<void> {
  await audited(async (trx, note) => {
    const user = await trx
      .selectFrom('connect_users')
      .select('email')
      .where('id', '=', userId)
      .executeTakeFirstOrThrow();
    const detail = { through: through ?? null, account: quote(accountId) };
    await note({ actor: actorOf(user), action: 'account.connect', detail });
  });
}

/**
 * better-auth says `invalid_code` of a code that the provider refused (400, as OAuth has it) and of a provider that is away
 * alike, and `unable_to_get_user_info` of an identity that it cannot verify though the code was right.
 */
function refuseProviderFault({ searchParams }: URL, { reason }: Beneath, name: string): void {
  const error = searchParams.get('error');
  const refusedCode = (reason as { status?: unknown } | undefined)?.status === 400;
  if (error !== 'unable_to_get_user_info' && (error !== 'invalid_code' || refusedCode)) return;
  throw new GatewayError('upstream_failed', {
    message: `${name} did not answer as it should. Try again in a moment, or sign in with your password.`,
    cause: reason,
  });
}
