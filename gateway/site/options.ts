import type { Logger } from 'pino';
import type { Departures } from '../http/flow/departures.js';
import type { Jobs } from '../jobs/jobs.js';
import type { KeyAdmin } from '../keys/admin.js';
import type { KeyStore } from '../keys/store.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import type { UsageQuery } from '../usage/query.js';
import type { UsageRow as FullUsageRow, UsagePage } from '../usage/report.js';
import type { OidcOptions } from './accounts/auth.js';
import type { SiteDatabase } from './database.js';

/** What the site needs to know of a row of usage; the classes of its errors come with it in the JSON API. */
export type UsageRow = Omit<FullUsageRow, 'errors_client' | 'errors_limited' | 'errors_server'>;

/** One page of a tenant's figures. */
export type ReadUsage = (
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
  /** Whether it changes something elsewhere: it takes POST alone then, and no signed url. */
  effects?: boolean;
}

/** What the site is made of: the stores that it shares with the API, and nothing else of it. */
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
  /** What bounds the answers that are on their way. */
  outbound: Departures;
  /** Wall clock, ms. */
  now?: (() => number) | undefined;
}
