import type { Pool } from '../../pool/pool.js';
import type { WorkerReport } from '../../pool/task.js';
import type { Closers } from '../closers.js';
import type { Config } from '../config.js';
import type { Database } from '../database/database.js';
import type { OutboundBudget } from '../http/outbound-budget.js';
import { isLoopbackHost } from '../http/request.js';
import type { Front } from '../http/server.js';
import { adminSettings, createKeyAdmin } from '../keys/admin.js';
import type { KeyStore } from '../keys/store.js';
import type { Metrics } from '../observability/metrics.js';
import { pipelineId } from '../plugins/paths.js';
import type { RecipeCompiler } from '../plugins/recipes/recipe.js';
import type { Registry } from '../plugins/registry.js';
import type { SigningSecrets } from '../signing/signing-secrets.js';
import type { UsageMeter } from '../usage/meter.js';
import { createUsageReports } from '../usage/reports.js';
import { requestLimits } from '../usage/requests.js';
import { createFirstOperator } from './accounts/account.js';
import { createSiteApp } from './app.js';
import type { HealthFact, SiteOptions } from './site.js';
import type { SiteTables } from './tables.js';

interface SiteStart extends Pick<SiteOptions, 'logger' | 'jobs' | 'notices' | 'preview'> {
  config: Config;
  closers: Closers;
  /** The server that the site is to answer on. */
  front: Front;
  database: Database;
  store: KeyStore;
  signing: SigningSecrets;
  usage: UsageMeter;
  /** Bounds the answers of both ports. */
  outboundBudget: OutboundBudget;
  metrics: Metrics;
  registry: Registry;
  compileRecipe: RecipeCompiler;
  pool: Pick<Pool, 'stats'>;
  engine: WorkerReport;
  keysAvailable: () => boolean;
  /** Where the API listens. */
  apiUrl: string;
}

/** Starts the site on its own port. `firstOperator` is the sign-in that this start created, if it did. */
export async function startSite(start: SiteStart) {
  const { config, database, store, signing, registry, usage, metrics, logger, front } = start;
  start.closers.add(() => front.close(5_000));
  // The address has to be known before the application is made of it.
  const url = await front.listen();
  const baseUrl = new URL(config.connectUrl ?? url).origin;
  const apiUrl = new URL(config.apiUrl ?? start.apiUrl).origin;
  const siteDatabase = database.access<SiteTables>();
  const settings = adminSettings(config);
  const app = await createSiteApp({
    admin: createKeyAdmin({
      store,
      signing,
      compileRecipe: start.compileRecipe,
      services: () => [...registry.keys()],
      ...settings,
    }),
    store,
    signing,
    database: siteDatabase,
    usage: (tenant, query) => usage.usage(tenant, query),
    reports: createUsageReports({ access: database.access(), store, requests: requestLimits(config) }),
    defaults: settings.defaults,
    jobs: start.jobs,
    notices: start.notices,
    preview: start.preview,
    playground: config.docs === 'on' ? `${apiUrl}/?helper=${pipelineId}` : undefined,
    outbound: start.outboundBudget,
    operatorToken: config.operatorToken,
    baseUrl,
    apiUrl,
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
    secondFactor: config.secondFactor,
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

/** How the gateway is at this moment, for the overview. */
function healthFacts({ engine, pool, database, keysAvailable, config }: SiteStart): HealthFact[] {
  const { running, places, threads } = pool.stats();
  const name = database.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  const available = keysAvailable();
  const limits = config.redisUrl ? 'shared through Redis' : 'counted by this gateway';
  const workers = `${running} of ${threads} running, ${Math.max(0, places - running)} waiting`;
  const fact = (name: string, value: string, state: HealthFact['state']) => ({ name, value, state });
  return [
    fact('Image engine', engine.engine, engine.fallbackReason === undefined ? 'good' : 'warn'),
    fact('Key database', `${name}, ${available ? '' : 'not '}answering`, available ? 'good' : 'bad'),
    fact('Limits', limits, 'good'),
    fact('Workers', workers, threads < config.poolThreads ? 'warn' : 'good'),
  ];
}
