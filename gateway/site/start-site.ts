import type { Logger } from 'pino';
import type { Closers } from '../closers.js';
import type { Config } from '../config.js';
import type { Database } from '../database/database.js';
import type { Registry } from '../helpers/registry.js';
import type { Departures } from '../http/flow/departures.js';
import { isLoopbackHost } from '../http/loopback.js';
import type { Front } from '../http/server/front.js';
import type { Jobs } from '../jobs/jobs.js';
import { createKeyAdmin } from '../keys/admin.js';
import type { KeyStore } from '../keys/store.js';
import type { Metrics } from '../metrics/metrics.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import type { UsageMeter } from '../usage/meter.js';
import { type Credentials, createFirstOperator } from './accounts/first-operator.js';
import { createSiteApp } from './app.js';
import { createSiteDatabase } from './database.js';
import { type HealthSources, healthFacts } from './health.js';
import type { SiteOptions } from './options.js';

export interface SiteStart extends HealthSources {
  config: Config;
  logger: Logger;
  closers: Closers;
  /** The server that the site is to answer on. */
  front: Front;
  database: Database;
  store: KeyStore;
  /** What signs urls. */
  signing: SigningSecrets;
  usage: UsageMeter;
  jobs: Jobs;
  /** What bounds the answers of both ports. */
  departures: Departures;
  metrics: Metrics;
  registry: Registry;
  /** Where the API listens. */
  apiUrl: string;
}

/** A key-management site that serves. */
export interface StartedSite {
  url: string;
  /** The first operator's sign-in, where this start created it: to be shown now, it is kept nowhere. */
  firstOperator: Credentials | undefined;
}

/** Starts the key-management site on its own port. It shares the stores with the API, and nothing else. */
export async function startSite(start: SiteStart): Promise<StartedSite> {
  const { config, database, store, signing, registry, usage, metrics, logger, front } = start;
  start.closers.add(() => front.close(5_000));
  // The address has to be known before the application is made of it.
  const url = await front.listen();
  const baseUrl = new URL(config.connectUrl ?? url).origin;
  const siteDatabase = createSiteDatabase(database);
  const app = await createSiteApp({
    admin: createKeyAdmin({ store, signing, services: () => [...registry.keys()] }),
    store,
    signing,
    database: siteDatabase,
    usage: (tenant, query) => usage.usage(tenant, query),
    jobs: start.jobs,
    outbound: start.departures,
    operatorToken: config.operatorToken,
    baseUrl,
    apiUrl: new URL(config.apiUrl ?? start.apiUrl).origin,
    services: () =>
      [...registry.values()].map(({ id, declaration: { summary, output, effects } }) => ({
        id,
        summary,
        picture: output === undefined,
        effects,
      })),
    metrics: () => metrics.text(),
    health: () => healthFacts(start),
    logger,
    // Cookies may go over plain http on a loopback address alone.
    secureCookies: !isLoopbackHost(new URL(baseUrl).hostname),
    oidc: oidcOf(config),
    proxies: config.connectProxies,
  });
  front.open(app.callback());
  return { url, firstOperator: await createFirstOperator(siteDatabase) };
}

/** The configuration has all three or none. */
function oidcOf({ oidcIssuer, oidcClientId, oidcClientSecret, oidcName }: Config): SiteOptions['oidc'] {
  if (!oidcIssuer || !oidcClientId || !oidcClientSecret) return undefined;
  return { issuer: oidcIssuer, clientId: oidcClientId, clientSecret: oidcClientSecret, name: oidcName };
}
