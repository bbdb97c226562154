import type { Logger } from 'pino';
import type { KeyAdmin } from '../keys/admin.js';
import type { KeyStore } from '../keys/store.js';
import type { ConnectDatabase } from './database.js';

/** One row of usage: a day's sums of one key at one helper. */
export interface UsageRow {
  /** UTC, `YYYY-MM-DD`. */
  day: string;
  /** The key's id. */
  key: string;
  service: string;
  calls: number;
  errors: number;
  bytes_in: number;
  bytes_out: number;
  cpu_ms: number;
}

/** Newest day first; days are included on both sides, `after` is `next` of the page before. */
export type ReadUsage = (
  tenantId: string,
  query: { from?: string; to?: string; limit?: number; after?: string },
) => Promise<{ rows: UsageRow[]; next?: string }>;

/** One line of "health at a glance". */
export interface HealthFact {
  /** E.g. `Image engine`. */
  name: string;
  /** E.g. `sharp`. */
  value: string;
  state: 'good' | 'warn' | 'bad';
}

/** What the site is made of: the stores that it shares with the API, and nothing else of it. */
export interface ConnectParts {
  admin: KeyAdmin;
  /** For looking up one key or tenant, and for noting joined members in the audit log. */
  store: Pick<KeyStore, 'key' | 'tenant' | 'change'>;
  database: ConnectDatabase;
  usage: ReadUsage;
  /** Of the JSON API and `/metrics`; without one, both answer 401 to everybody. */
  operatorToken?: string | undefined;
  /** The site's own address as people's browsers see it, e.g. `https://keys.example.com`. */
  baseUrl: string;
  /** The API's address as customers see it, for the curl lines. */
  apiUrl: string;
  /** Every helper. */
  services: () => readonly { id: string; summary: string }[];
  /** What `/metrics` answers; without it, that path is 404. */
  metrics?: (() => Promise<{ type: string; body: string }>) | undefined;
  health: () => readonly HealthFact[];
  logger: Logger;
  /** Cookies over https alone: everywhere but on a loopback address. */
  secureCookies: boolean;
  /** How many proxies in front of the site write `X-Forwarded-For`; 0 by default: the header is not believed. */
  proxies?: number | undefined;
  /** Wall clock, ms. */
  now?: (() => number) | undefined;
}
