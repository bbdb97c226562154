import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { OutboundBudget } from '../http/outbound-budget.js';
import type { Jobs } from '../jobs/jobs.js';
import type { KeyAdmin } from '../keys/admin.js';
import { recipeId, type TenantLimits } from '../keys/model.js';
import type { KeyStore } from '../keys/store.js';
import type { Notices } from '../notices/watch.js';
import type { RecipePreview } from '../recipes/preview.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import type { UsageMeter } from '../usage/meter.js';
import type { UsageReports } from '../usage/reports.js';
import { createMemberAdmin } from './accounts/member-admin.js';
import { createPasswordChecker } from './accounts/passwords.js';
import { createInvitations, createPeople } from './accounts/people.js';
import type { OidcOptions } from './accounts/provider.js';
import { createSecondFactor, type SecondFactorPolicy } from './accounts/second-factor.js';
import { createSignIn } from './accounts/sign-in.js';
import { createAttemptBudget, createDevices, createThrottle } from './accounts/throttle.js';
import { createTokens } from './accounts/tokens.js';
import { createFormMarks } from './form-guard.js';
import type { SiteDatabase } from './tables.js';

/** One line of "health at a glance", e.g. `Image engine` and `sharp`. */
export type HealthFact = { name: string; value: string; state: 'good' | 'warn' | 'bad' };

/** A helper: `picture` if it may answer with one, `effects` if it accepts POST alone and no signed url. */
export type Service = { id: string; summary: string; picture: boolean; effects?: boolean };

/** What the keys of a tenant can call: every helper, and the tenant's recipes. */
export async function servicesFor(
  { admin, services }: Pick<Site, 'admin' | 'services'>,
  tenant: string,
): Promise<Service[]> {
  const { recipes } = await admin.listRecipes(tenant);
  const own = recipes.map(({ name, summary = '' }) => ({ id: recipeId(name), summary, picture: true }));
  return [...services(), ...own];
}

/** What the site needs: the stores that it shares with the API, and nothing else of it. */
export interface SiteOptions {
  admin: KeyAdmin;
  /** For looking up one key or tenant. */
  store: Pick<KeyStore, 'key' | 'tenant' | 'find' | 'findKeys'>;
  database: SiteDatabase;
  usage: UsageMeter['usage'];
  notices: Pick<Notices, 'list' | 'operatorHost'>;
  reports: UsageReports;
  /** What holds for a tenant for which nothing else is set. */
  defaults: TenantLimits;
  jobs: Pick<Jobs, 'list' | 'job' | 'items' | 'cancel'>;
  /** Of the JSON API and `/metrics`; without one, both answer 401 to everybody. */
  operatorToken?: string | undefined;
  /** The site's own address as people's browsers see it, e.g. `https://keys.example.com`. */
  baseUrl: string;
  /** The API's address as customers see it, for the curl lines and signed urls. */
  apiUrl: string;
  /** Whether urls can be signed, and what seals the secrets of second factors. */
  signing: Pick<SigningSecrets, 'available' | 'accounts'>;
  /** Tries recipes. */
  preview: RecipePreview;
  /** Where steps are put together in a form; undefined where there is no such page. */
  playground?: string | undefined;
  /** Every helper. */
  services: () => readonly Service[];
  /** What `/metrics` answers; without it, that path is 404. */
  metrics?: (() => Promise<{ type: string; body: string }>) | undefined;
  health: () => readonly HealthFact[];
  logger: Logger;
  /** Cookies over https alone: everywhere but on a loopback address. */
  secureCookies: boolean;
  /** An identity provider that people may connect their accounts with, to sign in through it. */
  oidc?: OidcOptions | undefined;
  /** Whose account needs a second factor; `optional` by default. */
  secondFactor?: SecondFactorPolicy | undefined;
  /** How many proxies in front of the site write `X-Forwarded-For`; 0 by default: the header is not believed. */
  proxies?: number | undefined;
  /** Bounds the answers being sent. */
  outbound: OutboundBudget;
  /** Wall clock, ms. */
  now?: (() => number) | undefined;
}

const joiningLimits = { pair: 5, account: 10, address: 20, seconds: 86_400 };
/** Three of a million codes are right at a time: 240 guesses a day find one in 1,400 days. */
const codeLimits = { pair: 5, account: 10, address: 30, seconds: 3_600 };
/** Many people may share an address, and each that returns signed in is refunded. */
const providerVisitLimit = { tries: 60, seconds: 600 };

export type Site = Awaited<ReturnType<typeof createSite>>;

/** What the pages work with: the site's options, and what it makes itself. */
export async function createSite(options: SiteOptions) {
  const { database, now = Date.now } = options;
  const secret = await loadSecret(database);
  /** Of guessing passwords, links and a provider's answers. */
  const throttle = createThrottle();
  const joining = createThrottle(joiningLimits);
  const passwords = createPasswordChecker();
  const factor = createSecondFactor({ ...options, secret, now });
  const { tries, seconds } = providerVisitLimit;
  return {
    ...options,
    now,
    secret,
    signIn: createSignIn({ ...options, secret, factor }),
    factor,
    /** Of guessing codes of a second factor. */
    codes: createThrottle(codeLimits),
    people: createPeople(database),
    invitations: createInvitations(database, now),
    members: createMemberAdmin({ database, passwords, throttle, joining, now }),
    tokens: createTokens(database, now),
    formMarks: createFormMarks(database, now),
    throttle,
    /** Visits of the identity provider, by network. */
    providerVisits: createAttemptBudget(tries, seconds),
    passwords,
    devices: createDevices({ secret, now, secureCookies: options.secureCookies }),
  };
}

/** Signs cookies and forms on all gateways of the database. Worthless to its reader: sessions are stored as hashes. */
export async function loadSecret(database: SiteDatabase): Promise<string> {
  const name = 'secret';
  const value = randomBytes(32).toString('base64url');
  return database.run(async (db) => {
    // Of several gateways that start at once, the first one's stays.
    const insert = db.insertInto('connect_settings').values({ name, value });
    await insert.onConflict((conflict) => conflict.column('name').doNothing()).execute();
    const select = db.selectFrom('connect_settings').select('value').where('name', '=', name);
    return (await select.executeTakeFirstOrThrow()).value;
  });
}
