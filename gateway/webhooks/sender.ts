import { createHmac } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Closers } from '../closers.js';
import type { Config } from '../config.js';
import type { Access } from '../database/database.js';
import { createPost, type Post } from '../download/fetch.js';
import { GatewayError } from '../errors.js';
import { webhookGraceMs } from '../keys/tenant-changes.js';
import { type DerivedSecrets, webhookSecretPrefix } from '../signing/signing-secrets.js';
import {
  type ClaimedDelivery,
  chooseTenants,
  createDeliveryStore,
  type SecretVersion,
  type SenderTables,
} from './delivery-store.js';

interface WebhooksOptions extends Pick<WebhookSenderOptions, 'access' | 'secrets' | 'logger' | 'observe'> {
  config: Pick<Config, 'webhookOrigins' | 'sourceTimeoutMs'>;
  closers: Closers;
}

/** A file may be long in coming, an answer not: as long as a claim lasts, no other process can claim a dead one's delivery. */
const longestAnswerMs = 15_000;

export type Webhooks = ReturnType<typeof openWebhooks>;

/** Opens a process's part in webhooks by the configuration, sending from now on; what is opened is left to `closers`. */
export function openWebhooks({ config, closers, ...options }: WebhooksOptions) {
  const timeoutMs = Math.min(config.sourceTimeoutMs, longestAnswerMs);
  const post = closers.own(createPost({ origins: config.webhookOrigins, timeoutMs }));
  const { wake } = closers.own(createWebhookSender({ ...options, post }));
  return {
    /**
     * Checks a webhook's url without any I/O. Throws a `GatewayError`: `storage_unavailable`, naming HELPER_SIGNING_SECRET, where nothing
     * could be signed; `invalid_input` on `field`; `source_refused`.
     */
    check(raw: string, field: string) {
      options.secrets.requireMaster();
      return post.check(raw, field);
    },
    /** Something has just been added to what is to be delivered. */
    wake,
  };
}

export interface WebhookSenderOptions {
  access: Access<SenderTables>;
  post: Post;
  secrets: DerivedSecrets;
  logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;
  observe?: ((outcome: 'sent' | 'failed' | 'given_up') => void) | undefined;
  /** Milliseconds between two looks for what is due, default 2000. */
  pollMs?: number;
  /** How long `close` lets receivers answer, default 2000. */
  closeMs?: number;
  /** Milliseconds since 1970; for tests, as is `random`. */
  now?: () => number;
  random?: () => number;
}

/** At once in one process. */
const mostDeliveries = 16;
const mostDeliveriesOfTenant = 2;
/** A process that is stopped for so long between its claim and the end of its try loses the delivery to another. */
const claimMarginMs = 10_000;
const tenantsRemembered = 10_000;

/**
 * Delivers what is due, at least once, in any number of processes: a delivery is claimed for as long as a try may last, so that another
 * process has it after a kill, with the same id. Without a master secret it does nothing, since nothing goes out unsigned.
 */
export function createWebhookSender(options: WebhookSenderOptions) {
  const { access, post, secrets, logger, observe, pollMs = 2000, closeMs = 2000 } = options;
  const { now = Date.now, random = Math.random } = options;
  const store = createDeliveryStore(access);
  const underWay = new Map<Promise<void>, string>();
  const lastTries = new LRUCache<string, number>({ max: tenantsRemembered });
  const stopping = new AbortController();
  setMaxListeners(mostDeliveries, stopping.signal);
  let tries = 0;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let failing = false;
  let closed = false;

  const standingOf = (tenant: string) => ({
    held: [...underWay.values()].filter((each) => each === tenant).length,
    last: lastTries.get(tenant) ?? 0,
  });

  async function startDeliveries(): Promise<void> {
    const free = mostDeliveries - underWay.size;
    if (free <= 0) return;
    const due = await store.due(now());
    for (const { tenant, slots } of chooseTenants(due, free, mostDeliveriesOfTenant, standingOf)) {
      if (closed) return;
      tries += 1;
      lastTries.set(tenant.tenant_id, tries);
      const at = now();
      const until = at + post.timeoutMs + claimMarginMs;
      for (const claimed of await store.claim(tenant.tenant_id, { most: slots, now: at, until })) {
        const delivery = deliver(claimed, tenant).finally(() => {
          underWay.delete(delivery);
          wake();
        });
        underWay.set(delivery, tenant.tenant_id);
      }
    }
  }

  async function deliver(claimed: ClaimedDelivery, version: SecretVersion): Promise<void> {
    let outcome: DeliveryOutcome | undefined;
    try {
      // A process that stood still meanwhile may find another at it before its own try is over.
      if (now() + post.timeoutMs <= claimed.due_at) outcome = await send(claimed, version);
    } catch (error) {
      if (!stopping.signal.aborted) {
        logger.error({ err: error, delivery: claimed.id }, 'a webhook could not be sent');
        outcome = { ended: undefined, reason: 'internal' };
      }
    }
    const write = outcome ? record(claimed, outcome) : () => store.giveBack(claimed, now());
    // While the claim holds, through an outage of the database; after that the delivery is another's, and made again.
    while (!(await succeeds(write)) && !closed && now() < claimed.due_at) {
      await pause(pollMs, undefined, { ref: false });
    }
  }

  /** Sends a delivery once, signed anew: receivers refuse what is old, or signed by a secret that has gone. Rejects where it is stopped. */
  async function send(
    { id, tenant_id, url, payload }: ClaimedDelivery,
    tenant: SecretVersion,
  ): Promise<DeliveryOutcome> {
    const { signal } = stopping;
    const at = now();
    const timestamp = Math.floor(at / 1000);
    const { webhook_version: version, webhook_rotated_at: rotatedAt } = tenant;
    const signing = [...secrets.all(tenant_id, version)];
    // Receivers change over when it suits them, within a day.
    if (rotatedAt !== null && at - rotatedAt < webhookGraceMs)
      signing.push(...secrets.all(tenant_id, version - 1));
    const signatures = signing.map((secret) => sign({ id, timestamp, body: payload }, secret));
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatures.join(' '),
    };
    try {
      const answer = await post.send(post.check(url), { body: Buffer.from(payload), headers, signal });
      const { status } = answer;
      if (status >= 200 && status < 300) return { ended: 'delivered', status };
      if (status === 410) return { ended: 'gone', status };
      const wait = busyStatuses.includes(status) ? answer.headers['retry-after'] : undefined;
      return { ended: undefined, reason: `status ${status}`, retryAfterMs: readRetryAfter(wait, now()) };
    } catch (error) {
      if (signal.aborted || !(error instanceof GatewayError)) throw error;
      const { code, cause, message } = error;
      return { ended: undefined, reason: `${code}: ${cause instanceof Error ? cause.message : message}` };
    }
  }

  function record(claimed: ClaimedDelivery, outcome: DeliveryOutcome): () => Promise<void> {
    const { id: delivery, tenant_id: tenant, url, attempts } = claimed;
    // Of the url its host alone: many have a secret in the rest.
    const line = { delivery, tenant, host: new URL(url).host, tries: attempts };
    if (outcome.ended) {
      observe?.(outcome.ended === 'gone' ? 'given_up' : 'sent');
      logger.debug({ ...line, status: outcome.status }, `webhook ${outcome.ended}`);
      return () => store.end(claimed);
    }
    const { reason, retryAfterMs } = outcome;
    const next = nextTry(claimed, { now: now(), random: random(), retryAfterMs });
    observe?.(next === undefined ? 'given_up' : 'failed');
    if (next === undefined) {
      logger.warn({ ...line, reason }, 'a webhook was not accepted for a day, and is dropped');
      return () => store.end(claimed);
    }
    logger.debug({ ...line, reason, next: new Date(next).toISOString() }, 'webhook not accepted');
    return () => store.retry(claimed, next);
  }

  async function succeeds(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
    } catch (error) {
      if (!failing) logger.warn({ err: error }, 'webhooks wait for the database');
      failing = true;
      return false;
    }
    if (failing) logger.info({}, 'webhooks are sent again');
    failing = false;
    return true;
  }

  /** Looks at once: something has just become due. */
  function wake(): void {
    lookAgain = true;
    if (closed || !secrets.available) return;
    looking ??= look();
  }

  async function look(): Promise<void> {
    while (lookAgain && !closed) {
      lookAgain = false;
      // What failed is tried again by the timer, or when something else has come.
      if (!(await succeeds(startDeliveries))) break;
    }
    looking = undefined;
  }

  const timer = setInterval(wake, pollMs).unref();
  wake();

  return {
    wake,
    /** Claims nothing more, lets those under way end for a moment, and gives back the rest. */
    async close(): Promise<void> {
      closed = true;
      clearInterval(timer);
      await looking;
      const ended = Promise.all(underWay.keys());
      await Promise.race([ended, pause(closeMs, undefined, { ref: false })]);
      stopping.abort(new Error('closing'));
      await ended;
    },
  };
}

/** What became of a try. `reason` is for the log: it never has what a receiver has sent, but for its status. */
type DeliveryOutcome =
  | { ended: 'delivered' | 'gone'; status: number }
  | { ended: undefined; reason: string; retryAfterMs?: number | undefined };

/** With these a receiver may say for how long it is to be left alone. */
const busyStatuses = [429, 503];

/** `v1,…` of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, with whole seconds, by the bytes that a `whsec_…` stands for. */
export function sign(
  { id, timestamp, body }: { id: string; timestamp: number; body: string },
  secret: string,
): string {
  const key = Buffer.from(secret.slice(webhookSecretPrefix.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Between a try that failed and the next; the last goes on. */
const lastRetryStep = 3 * hour;
const retrySteps = [5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute, hour, 2 * hour];
/** How much longer a step may be, so that what failed together does not come back together. */
const retryJitter = 0.25;
/** How long a receiver that says so is left alone at most. */
const mostRetryAfter = 6 * hour;
const triedForMs = 24 * hour;

/** When to try again, ms since 1970; at the end of the day for the last time. `attempts` has the failed one. */
export function nextTry(
  { attempts, created_at: createdAt }: Pick<ClaimedDelivery, 'attempts' | 'created_at'>,
  { now, random, retryAfterMs = 0 }: { now: number; random: number; retryAfterMs?: number | undefined },
): number | undefined {
  const end = createdAt + triedForMs;
  if (now >= end) return undefined;
  const step = (retrySteps[attempts - 1] ?? lastRetryStep) * (1 + retryJitter * random);
  return Math.min(end, Math.round(now + Math.max(step, Math.min(retryAfterMs, mostRetryAfter))));
}

/** What `Retry-After` says in milliseconds from now: whole seconds or a date; undefined where it says neither. Pure. */
export function readRetryAfter(header: string | string[] | undefined, now: number): number | undefined {
  if (typeof header !== 'string') return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * second;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
