import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Access } from '../../database/access.js';
import { choose } from './choose.js';
import { type ClaimedDelivery, createDeliveryStore, type DueTenant } from './delivery-store.js';
import { nextTry } from './schedule.js';
import type { SenderTables } from './tables.js';
import { type Outcome, type Sending, tryDelivery } from './try-delivery.js';

export interface WebhookSenderOptions extends Omit<Sending, 'now'> {
  access: Access<SenderTables>;
  logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;
  /** Told of each try. */
  observe?: ((outcome: 'sent' | 'failed' | 'given_up') => void) | undefined;
  /** Milliseconds between two looks for what is due, default 2000. */
  pollMs?: number;
  /** How long `close` lets receivers answer, default 2000. */
  closeMs?: number;
  /** Milliseconds since 1970; for tests, as is `random`. */
  now?: () => number;
  random?: () => number;
}

/** Delivers what is due, in this process as in any number of others. */
export interface WebhookSender {
  /** Looks at once: something has just become due. */
  wake(): void;
  /** Takes nothing more, lets those under way end for a moment, and gives back the rest. */
  close(): Promise<void>;
}

/** At once in one process. */
const most = 16;
const mostOfTenant = 2;
/** A process that is stopped for so long between its claim and the end of its try loses the delivery to another. */
const claimMarginMs = 10_000;
const turnsKept = 10_000;

/**
 * Tells webhooks, each at least once: a delivery is claimed for as long as a try may take, and forgotten when it was taken. A process
 * that is killed in between leaves it to another, which sends it with the same id. Without a master secret it does nothing, since
 * nothing goes out unsigned.
 */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { access, post, secrets, logger, observe, pollMs = 2000, closeMs = 2000 } = options;
  const { now = Date.now, random = Math.random } = options;
  const store = createDeliveryStore(access);
  const underWay = new Map<Promise<void>, string>();
  const turns = new LRUCache<string, number>({ max: turnsKept });
  const stopping = new AbortController();
  setMaxListeners(most, stopping.signal);
  let turn = 0;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let failing = false;
  let closed = false;

  const running = (tenant: string) => [...underWay.values()].filter((each) => each === tenant).length;
  const standing = { running, lastTurn: (tenant: string) => turns.get(tenant) ?? 0 };

  /** Fills the free places. */
  async function fill(): Promise<void> {
    const free = most - underWay.size;
    if (free <= 0) return;
    const due = await store.due(now());
    for (const { tenant, places } of choose(due, free, mostOfTenant, standing)) {
      if (closed) return;
      turn += 1;
      turns.set(tenant.tenant_id, turn);
      const at = now();
      const until = at + post.timeoutMs + claimMarginMs;
      for (const claimed of await store.claim(tenant.tenant_id, { most: places, now: at, until })) {
        const delivery = deliver(claimed, tenant).finally(() => {
          underWay.delete(delivery);
          wake();
        });
        underWay.set(delivery, tenant.tenant_id);
      }
    }
  }

  async function deliver(claimed: ClaimedDelivery, version: DueTenant): Promise<void> {
    let outcome: Outcome | undefined;
    try {
      // A process that stood still meanwhile may find another at it before its own try is over.
      if (now() + post.timeoutMs <= claimed.due_at)
        outcome = await tryDelivery({ post, secrets, now }, claimed, version, stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted) {
        logger.error({ err: error, delivery: claimed.id }, 'a webhook could not be sent');
        outcome = { ended: undefined, reason: 'internal' };
      }
    }
    await untilClaimEnds(claimed, outcome ? record(claimed, outcome) : () => store.giveBack(claimed, now()));
  }

  /** What is to be written down of a try. */
  function record(claimed: ClaimedDelivery, outcome: Outcome): () => Promise<void> {
    const { id: delivery, tenant_id: tenant, url, attempts, created_at: createdAt } = claimed;
    // Of the url its host alone: many have a secret in the rest.
    const told = { delivery, tenant, host: new URL(url).host, tries: attempts };
    if (outcome.ended) {
      observe?.(outcome.ended === 'gone' ? 'given_up' : 'sent');
      logger.debug({ ...told, status: outcome.status }, `webhook ${outcome.ended}`);
      return () => store.end(claimed);
    }
    const { reason, retryAfterMs } = outcome;
    const next = nextTry({ attempts, createdAt, now: now(), retryAfterMs, random: random() });
    observe?.(next === undefined ? 'given_up' : 'failed');
    if (next === undefined) {
      logger.warn({ ...told, reason }, 'a webhook was not taken for a day, and is dropped');
      return () => store.end(claimed);
    }
    logger.debug({ ...told, reason, next: new Date(next).toISOString() }, 'webhook not taken');
    return () => store.retry(claimed, next);
  }

  /** Writes while the claim holds, through an outage of the database; after that the delivery is another's, and made again. */
  async function untilClaimEnds({ due_at }: ClaimedDelivery, write: () => Promise<void>): Promise<void> {
    while (!(await succeeds(write)) && !closed && now() < due_at) {
      await pause(pollMs, undefined, { ref: false });
    }
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

  function wake(): void {
    lookAgain = true;
    if (closed || !secrets.available) return;
    looking ??= look();
  }

  async function look(): Promise<void> {
    while (lookAgain && !closed) {
      lookAgain = false;
      // What failed is tried again by the timer, or when something else has come.
      if (!(await succeeds(fill))) break;
    }
    looking = undefined;
  }

  const timer = setInterval(wake, pollMs);
  timer.unref();
  wake();

  return {
    wake,
    async close() {
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
