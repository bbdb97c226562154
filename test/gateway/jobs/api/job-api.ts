import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Router from '@koa/router';
import Koa from 'koa';
import { pino } from 'pino';
import { Closers } from '../../../../gateway/closers.js';
import { openDatabase } from '../../../../gateway/database/open-database.js';
import type { GatewayError } from '../../../../gateway/errors.js';
import { createInboundBudget } from '../../../../gateway/http/inbound-budget.js';
import { createOutboundBudget } from '../../../../gateway/http/outbound-budget.js';
import { jobRoutes, jobsPath } from '../../../../gateway/jobs/api/routes.js';
import { createJobs, type JobsParts } from '../../../../gateway/jobs/jobs.js';
import { createJobStore, type JobStore } from '../../../../gateway/jobs/store/job-store.js';
import type { JobTables } from '../../../../gateway/jobs/store/tables.js';
import { noKeyLimits, noLimits } from '../../../../gateway/keys/model.js';
import type { KeyStatus } from '../../../../gateway/keys/verifier.js';
import type { Limiter } from '../../../../gateway/limits/limiter.js';
import { migrations } from '../../../../gateway/migrations.js';
import { observe } from '../../../../gateway/pipeline/observe.js';
import { reportPublicly, respond } from '../../../../gateway/pipeline/respond.js';
import { unrouted } from '../../../../gateway/pipeline/route.js';
import type { CallState } from '../../../../gateway/pipeline/stage.js';
import { loadRegistry } from '../../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import { createTenantHelpers } from '../../../../gateway/recipes/tenant-helpers.js';
import type { DerivedSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { openWebhooks } from '../../../../gateway/webhooks/sender.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';
import { fixture } from '../../../fixtures.js';
import type { Answer, CallInit } from '../../harness.js';
import { signing } from '../../signing/signing.js';

/** Bounds that a test can pass quickly. */
const bounds = { maxJobBytes: 400_000, maxFileBytes: 20_000, maxTextBytes: 8_000 };

/** Bytes of answers that may be on their way. */
export const outputBytes = 8 * 2 ** 20;

/** What a test may break. */
interface Broken extends Omit<Partial<JobsParts>, 'store'> {
  store?: Partial<JobStore>;
  put?: (name: string) => void;
  get?: (name: string) => void;
  take?: Limiter['take'];
  refusal?: () => GatewayError;
  /** Called when it is looked anew whether jobs can be made. */
  look?: () => void;
  secrets?: DerivedSecrets;
}

export type JobApi = Awaited<ReturnType<typeof startJobApi>>;

/** The API of jobs alone, over a real database: nothing works on the jobs but the test. */
export async function startJobApi({ maxOpenBytes = 1e9, maxResultBytes = 1e9 } = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  const database = await openDatabase({ dataDir }, { migrations, create: true });
  const store = createJobStore(database.access<JobTables>());
  const broken: Broken = {};
  /** What lies in the result store. */
  const stored = new Map<string, Uint8Array>();
  /** Tenants of new jobs, in their order; codes in the metrics; lines of the log. */
  const [woken, codes, log]: [string[], string[], Record<string, unknown>[]] = [[], [], []];
  const results: JobsParts['results'] = {
    async put(name, bytes) {
      broken.put?.(name);
      stored.set(name, Uint8Array.from(bytes));
    },
    async get(name, { start, end } = { start: 0, end: Number.POSITIVE_INFINITY }) {
      broken.get?.(name);
      const bytes = stored.get(name);
      return bytes && Buffer.from(bytes.subarray(start, end));
    },
    async removeAll(prefix) {
      for (const name of stored.keys()) if (name.startsWith(`${prefix}/`)) stored.delete(name);
    },
  };
  const jobs = createJobs({
    store: {
      ...store,
      create: (...given) => (broken.store?.create ?? store.create)(...given),
      items: (...given) => (broken.store?.items ?? store.items)(...given),
    },
    now: () => broken.now?.() ?? Date.now(),
    results,
    ttlSeconds: 3600,
    most: { inputs: maxOpenBytes, results: maxResultBytes },
    onCreated: ({ tenant_id }) => void woken.push(tenant_id),
    watch: { refusal: () => broken.refusal?.(), look: async () => broken.look?.() === undefined },
  });
  const folders = [builtinPlugins, fixture('plugins/openapi'), fixture('plugins/files')];
  const registry = await loadRegistry(folders, createVocabulary());
  const inboundBudget = createInboundBudget({ most: 100, bytes: 2_000_000, largest: 1_000_000 });
  const logger = pino({ level: 'info' }, { write: (line) => void log.push(JSON.parse(line)) });
  const closers = new Closers();
  const webhooks = openWebhooks({
    config: { webhookOrigins: ['http://127.0.0.1:9100'], sourceTimeoutMs: 1000 },
    // It finds nothing to send.
    access: { run: async () => [] } as never,
    secrets: {
      ...signing.webhooks,
      requireMaster: () => (broken.secrets ?? signing.webhooks).requireMaster(),
    },
    ...{ logger, closers },
  });
  const headers = { ratelimit: '"rate";r=1;t=1' };
  const limiter: Limiter = {
    take: async (tenant) => broken.take?.(tenant) ?? { allowed: true, settle() {}, charge: () => headers },
    close: () => undefined,
  };
  const keys = { verify: async (key: string) => verdictOf(key) };
  const routes = jobRoutes({
    ...{ jobs, webhooks, keys, limiter, inboundBudget },
    helpers: createTenantHelpers(registry),
    limitsOf: () => ({ rate: 0, burst: 0, monthlyQuota: 5, inFlight: null }) as never,
    bodyLimits: bounds,
    maxJobBytes: bounds.maxJobBytes,
  });
  const outboundBudget = createOutboundBudget({ bytes: outputBytes, onRoom: () => undefined });
  const app = new Koa<CallState>();
  const metrics = { observe: ({ code }: { code: string }) => void codes.push(code) };
  app.use(observe({ logger, metrics, usage: { record: () => codes.push('counted as a call') } }));
  app.use(respond(outboundBudget, reportPublicly));
  const router = new Router<CallState>({ sensitive: true, strict: true });
  for (const { path, method, handle } of routes) router.register(path, [method], handle);
  app.use(router.routes());
  app.use(unrouted(registry, { others: [{ path: jobsPath }], isPublic: true, keys }));
  app.on('error', () => undefined);
  const server = createServer(app.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ url, store, stored, woken, log, codes, broken },
    /** Bytes that are held for calls, and bytes of answers that are on their way. */
    held: () => inboundBudget.stats().bytes,
    unsent: () => outboundBudget.stats().bytes,
    /** `key` is the tenant's name, and behind a `!` the key's scopes; by default `acme`. */
    call: (path: string, init?: CallInit): Promise<Answer> => call(url, path, init),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await closers.close();
      inboundBudget.close();
      outboundBudget.close();
      await database.close();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** A form of fields `name=text` and files `name@content;file name;type`. */
export function formOf(...parts: string[]): FormData {
  const form = new FormData();
  for (const part of parts) {
    const [, name = '', kind, value = ''] = /^(\w+)([=@])(.*)$/s.exec(part) ?? [];
    const [content = '', fileName = 'a.png', type = 'image/png'] = value.split(';');
    if (kind === '=') form.append(name, value);
    else form.append(name, new Blob([content], { type }), fileName);
  }
  return form;
}

function verdictOf(key: string): KeyStatus {
  const [name = '', scopes] = key.split('!');
  return {
    state: 'active',
    tenant: { id: `ten_${name}`, name, weight: 1, limits: noLimits },
    key: { id: `key_${name}`, scopes: scopes ? scopes.split(',') : null, limits: noKeyLimits },
  } as KeyStatus;
}

async function call(base: string, path: string, { key = 'acme', body, headers, ...rest }: CallInit = {}) {
  const isObject = typeof body === 'object' && Object.getPrototypeOf(body) === Object.prototype;
  const response = await fetch(`${base}${path}`, {
    ...(body === undefined
      ? {}
      : { method: 'POST', body: isObject ? JSON.stringify(body) : (body as BodyInit) }),
    headers: {
      ...(isObject ? { 'content-type': 'application/json' } : {}),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(headers as Record<string, string>),
    },
    ...rest,
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && bytes.length > 0;
  const json = isJson ? JSON.parse(new TextDecoder().decode(bytes)) : undefined;
  return { status: response.status, headers: response.headers, bytes, json };
}
