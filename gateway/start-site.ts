import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Pool } from '../pool/pool.js';
import type { WorkerReport } from '../pool/task.js';
import type { Closers } from './closers.js';
import type { Config } from './config.js';
import { createConnectApp } from './connect/app.js';
import { type Credentials, createFirstOperator } from './connect/auth/first-operator.js';
import { createConnectDatabase } from './connect/database.js';
import type { ConnectParts, HealthFact } from './connect/parts.js';
import { isLoopback } from './connect/protect.js';
import type { Database } from './database/database.js';
import { createKeyAdmin } from './keys/admin.js';
import type { KeyStore } from './keys/store.js';
import type { Lifecycle } from './lifecycle.js';
import type { Metrics } from './observe/metrics.js';
import type { Registry } from './registry.js';
import { closeServer, createHttpServer, listen } from './server.js';
import type { UsageMeter } from './usage/meter.js';

export interface SiteStart {
  config: Config;
  logger: Logger;
  closers: Closers;
  lifecycle: Lifecycle;
  database: Database;
  store: KeyStore;
  usage: UsageMeter;
  metrics: Metrics;
  registry: Registry;
  pool: Pool;
  engine: WorkerReport;
  keysAvailable: () => boolean;
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
  const { config, database, store, registry, usage, metrics, logger } = start;
  let handle: ((request: IncomingMessage, response: ServerResponse) => unknown) | undefined;
  const server: Server = createHttpServer(start.lifecycle, (request, response) =>
    handle?.(request, response),
  );
  start.closers.add(() => closeServer(server, 5_000));
  const url = await listen(server, config.connectHost, config.connectPort);
  const baseUrl = new URL(config.connectUrl ?? url).origin;
  const connectDatabase = createConnectDatabase(database.db, database.kind);
  const app = await createConnectApp({
    admin: createKeyAdmin({ store, services: () => [...registry.keys()] }),
    store,
    database: connectDatabase,
    usage: (tenant, query) => usage.usage(tenant, query),
    operatorToken: config.operatorToken,
    baseUrl,
    apiUrl: new URL(config.apiUrl ?? start.apiUrl).origin,
    services: () =>
      [...registry.values()].map(({ id, declaration }) => ({ id, summary: declaration.summary })),
    metrics: () => metrics.text(),
    health: () => healthOf(start),
    logger,
    // Cookies may go over plain http on a loopback address alone.
    secureCookies: !isLoopback(new URL(baseUrl).hostname),
    oidc: oidcOf(config),
    proxies: config.connectProxies,
  });
  handle = app.callback();
  return { url, firstOperator: await createFirstOperator(connectDatabase) };
}

function healthOf({ engine, pool, database, keysAvailable, config }: SiteStart): HealthFact[] {
  const { running, places, threads } = pool.stats();
  const name = database.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  return [
    {
      name: 'Image engine',
      value: engine.engine,
      state: engine.fallbackReason === undefined ? 'good' : 'warn',
    },
    {
      name: 'Key database',
      value: keysAvailable() ? `${name}, answering` : `${name}, not answering`,
      state: keysAvailable() ? 'good' : 'bad',
    },
    {
      name: 'Limits',
      value: config.redisUrl ? 'shared through Redis' : 'counted by this gateway',
      state: 'good',
    },
    {
      name: 'Workers',
      value: `${running} of ${threads} running, ${Math.max(0, places - running)} waiting`,
      state: threads < config.poolThreads ? 'warn' : 'good',
    },
  ];
}

/** All three or none: with one missing, the buttons would lead nowhere. */
function oidcOf({ oidcIssuer, oidcClientId, oidcClientSecret, oidcName }: Config): ConnectParts['oidc'] {
  if (!oidcIssuer && !oidcClientId && !oidcClientSecret) return undefined;
  if (!oidcIssuer || !oidcClientId || !oidcClientSecret) {
    throw new Error(
      'HELPER_OIDC_ISSUER, HELPER_OIDC_CLIENT_ID and HELPER_OIDC_CLIENT_SECRET go together; set all or none.',
    );
  }
  return { issuer: oidcIssuer, clientId: oidcClientId, clientSecret: oidcClientSecret, name: oidcName };
}
