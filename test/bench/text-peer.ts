import { hash, randomUUID } from 'node:crypto';
import Router from '@koa/router';
import { Ajv } from 'ajv';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { LRUCache } from 'lru-cache';
import { pino } from 'pino';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { diffTexts } from '../../plugins/text/diff-two-strings/diff.js';
import { removeStopwords } from '../../plugins/text/remove-stopwords/remove.js';

interface Key {
  id: string;
  tenant: string;
  scopes: readonly string[] | null;
}

interface State {
  requestId: string;
  service?: string;
  key?: Key;
  code?: string;
}

interface Service {
  properties: Record<string, object>;
  required: readonly string[];
  handler(input: Record<string, string>): object;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: object | undefined;

  constructor(status: number, code: string, details?: object) {
    super(code);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

const text = { type: 'string', maxLength: 1_000_000 };
const services: Record<string, Service> = {
  'text/diff-two-strings': {
    properties: { a: text, b: text, context: { type: 'integer', minimum: 0, default: 3 } },
    required: ['a', 'b'],
    handler: ({ a = '', b = '' }) => ({ diff: diffTexts(a, b, { context: 3, patch: false }) }),
  },
  'text/remove-stopwords': {
    properties: { text, language: { type: 'string', enum: ['eng'], default: 'eng' } },
    required: ['text'],
    handler: ({ text = '' }) => ({ text: removeStopwords(text, { language: 'eng', keep: [], also: [] }) }),
  },
};

const rate = 1_000_000;

/**
 * A server as one would write it for the same duties with the same packages: a request's id, a line of its log, metrics, a key by its
 * hash out of a cache, its scope, a rate for each tenant, input held against a schema, one envelope. It has one key. The handlers' work
 * is the plugins' own, so that only what surrounds it is compared.
 */
export function createPeer(onlyKey: string): Koa<State> {
  const logger = pino(pino.destination({ dest: 1, sync: false, minLength: 4096 }));
  const register = new Registry();
  collectDefaultMetrics({ register });
  const registers = [register];
  const labelNames = ['service', 'code'] as const;
  const calls = new Counter({ name: 'calls_total', help: 'Calls.', labelNames, registers });
  const seconds = new Histogram({ name: 'call_seconds', help: 'Time.', labelNames: ['service'], registers });
  const keys = new LRUCache<string, Key>({ max: 10_000 });
  keys.set(hashOf(onlyKey), { id: 'k_1', tenant: 'demo', scopes: ['text/*'] });
  const limiter = new RateLimiterMemory({ points: rate, duration: 1 });
  const ajv = new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true });
  const app = new Koa<State>();

  app.use(async (ctx, next) => {
    const begun = performance.now();
    ctx.state.requestId = randomUUID();
    ctx.set('x-request-id', ctx.state.requestId);
    ctx.res.once('finish', () => {
      const { requestId: request_id, service, key, code = 'ok' } = ctx.state;
      const ms = performance.now() - begun;
      calls.inc({ service: service ?? 'none', code });
      seconds.observe({ service: service ?? 'none' }, ms / 1000);
      const { method, path, status } = ctx;
      logger.info(
        { request_id, method, path, service, status, code, tenant: key?.tenant, key: key?.id, ms },
        'call',
      );
    });
    await next();
  });

  app.use(async (ctx, next) => {
    ctx.set('x-content-type-options', 'nosniff');
    ctx.set('content-security-policy', "default-src 'none'; sandbox");
    ctx.set('cache-control', 'no-store');
    const meta = () => ({
      service: ctx.state.service ?? null,
      dryrun: false,
      request_id: ctx.state.requestId,
    });
    try {
      await next();
      if (ctx.body === undefined) throw new Refusal(404, 'not_found');
      ctx.body = { ok: true, data: ctx.body, meta: meta() };
    } catch (error) {
      const { status, code, details } =
        error instanceof Refusal ? error : new Refusal(500, 'internal', { error });
      ctx.state.code = code;
      ctx.status = status;
      ctx.body = { ok: false, error: { code, message: code, details }, meta: meta() };
    }
  });

  app.use(koaBody({ jsonLimit: '1mb' }));
  const router = new Router<State>();
  for (const [id, { properties, required, handler }] of Object.entries(services)) {
    const validate = ajv.compile({ type: 'object', properties, required, additionalProperties: false });
    router.register(`/${id}`, ['GET', 'POST'], async (ctx) => {
      ctx.state.service = id;
      const { ak, ...query } = ctx.query;
      const sent = ak ?? /^Bearer (.+)$/.exec(ctx.get('authorization'))?.[1];
      if (typeof sent !== 'string') throw new Refusal(401, 'key_missing');
      const key = keys.get(hashOf(sent));
      if (!key) throw new Refusal(401, 'key_invalid');
      ctx.state.key = key;
      if (key.scopes && !key.scopes.some((scope) => scope === id || id.startsWith(scope.slice(0, -1))))
        throw new Refusal(403, 'scope_denied');
      const { remainingPoints, msBeforeNext } = await limiter.consume(key.tenant).catch(() => {
        throw new Refusal(429, 'rate_limited');
      });
      ctx.set('ratelimit-policy', `"rate";q=${rate};w=1`);
      ctx.set('ratelimit', `"rate";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}`);
      const input = { ...query, ...(ctx.request.body as Record<string, string> | undefined) };
      if (!validate(input)) throw new Refusal(400, 'invalid_input', validate.errors ?? []);
      ctx.body = handler(input as Record<string, string>);
    });
  }
  router.get('/metrics', async (ctx) => {
    ctx.body = await register.metrics();
  });
  app.use(router.routes());
  return app;
}

function hashOf(key: string): string {
  return hash('sha256', key, 'hex');
}
