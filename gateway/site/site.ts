import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { OutboundBudget } from '../http/outbound-budget.js';
import type { Jobs } from '../jobs/jobs.js';
import type { KeyAdmin } from '../keys/admin.js';
import type { KeyStore } from '../keys/store.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import type { UsageRow as FullUsageRow, UsagePage, UsageQuery } from '../usage/report.js';
import { createAudited } from './accounts/account.js';
import type { OidcOptions } from './accounts/auth.js';
import { createDevices } from './accounts/devices.js';
import { createMemberAdmin } from './accounts/member-admin.js';
import { createPasswordChecker } from './accounts/passwords.js';
import { createInvitations, createPeople } from './accounts/people.js';
import { createSignIn } from './accounts/sign-in.js';
import { createAttemptBudget, createThrottle } from './accounts/throttle.js';
import { createFormMarks } from './form-guard.js';
import type { SiteDatabase } from './tables.js';

/** What the site needs to know of a row of usage; the classes of its errors come with it in the JSON API. */
export type UsageRow = Omit<FullUsageRow, 'errors_client' | 'errors_limited' | 'errors_server'>;

/** One page of a tenant's figures. */
type ReadUsage = (
  tenantId: string,
  query: UsageQuery,
) => Promise<Omit<UsagePage, 'rows'> & { rows: UsageRow[] }>;

/** One line of "health at a glance". */
export interface HealthFact {
  /** E.g. `Image engine`. */
  name: string;
  /** E.g. `sharp`. */
  value: string;
  state: 'good' | 'warn' | 'bad';
}

/** What the site knows of a helper. */
export interface Service {
  id: string;
  summary: string;
  /** Whether it may answer with a picture: it does not declare data. */
  picture: boolean;
  /** Whether it changes something elsewhere: it accepts POST alone then, and no signed url. */
  effects?: boolean;
}

/** What the site needs: the stores that it shares with the API, and nothing else of it. */
export interface SiteOptions {
  admin: KeyAdmin;
  /** For looking up one key or tenant. */
  store: Pick<KeyStore, 'key' | 'tenant'>;
  database: SiteDatabase;
  usage: ReadUsage;
  jobs: Pick<Jobs, 'list' | 'job' | 'items' | 'cancel'>;
  /** Of the JSON API and `/metrics`; without one, both answer 401 to everybody. */
  operatorToken?: string | undefined;
  /** The site's own address as people's browsers see it, e.g. `https://keys.example.com`. */
  baseUrl: string;
  /** The API's address as customers see it, for the curl lines and signed urls. */
  apiUrl: string;
  /** Whether urls can be signed. */
  signing: Pick<SigningSecrets, 'available'>;
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
  /** How many proxies in front of the site write `X-Forwarded-For`; 0 by default: the header is not believed. */
  proxies?: number | undefined;
  /** Bounds the answers being sent. */
  outbound: OutboundBudget;
  /** Wall clock, ms. */
  now?: (() => number) | undefined;
}

const joiningLimits = { pair: 5, account: 10, address: 20, seconds: 86_400 };
/** Many people may share an address, and each that returns signed in is refunded. */
const providerVisitLimit = { tries: 60, seconds: 600 };

export type Site = Awaited<ReturnType<typeof createSite>>;

/** What the pages work with: the site's options, and what it makes itself. */
export async function createSite(options: SiteOptions) {
  const { database, now = Date.now } = options;
  const secret = await loadSecret(database);
  // Earlier versions left a row here of every visit to the provider; now the browser keeps it.
  await database.run((db) => db.deleteFrom('connect_verifications').execute());
  const audited = createAudited(database, now);
  const invitations = createInvitations(database, now);
  /** Of guessing passwords, links and a provider's answers. */
  const throttle = createThrottle();
  const joining = createThrottle(joiningLimits);
  const passwords = createPasswordChecker();
  return {
    ...options,
    now,
    secret,
    signIn: createSignIn({ ...options, audited, secret }),
    people: createPeople(database),
    invitations,
    members: createMemberAdmin({ database, audited, invitations, passwords, throttle, joining, now }),
    formMarks: createFormMarks(database, now),
    throttle,
    /** Visits of the identity provider, by network. */
    providerVisits: createAttemptBudget(providerVisitLimit.tries, providerVisitLimit.seconds),
    passwords,
    devices: createDevices({ secret, now, secureCookies: options.secureCookies }),
  };
}

/**
 * The secret that signs cookies and forms: made at the first start and stored in the database, so that all gateways on it
 * share it without configuration. It is worth nothing to a reader of the database: sessions are stored as hashes.
 */
export async function loadSecret(database: SiteDatabase): Promise<string> {
  const name = 'secret';
  const value = randomBytes(32).toString('base64url');
  // Of several gateways that start at once, the first one's stays.
  await database.run((db) =>
    db
      .insertInto('connect_settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute(),
  );
  const row = await database.run((db) =>
    db.selectFrom('connect_settings').select('value').where('name', '=', name).executeTakeFirstOrThrow(),
  );
  return row.value;
}
