import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../config.js';
import type { Access } from '../database/database.js';
import { slices } from '../database/rows.js';
import { checkUrl, parseExemptOrigins } from '../download/url.js';
import type { DerivedSecrets } from '../signing/signing-secrets.js';
import { createNoticeStore, type NoticeTables } from './store.js';

interface NoticesOptions {
  config: Pick<Config, 'noticesUrl' | 'webhookOrigins' | 'monthlyQuota' | 'monthlyCpuMs'>;
  access: Access<NoticeTables>;
  /** Without a master secret notices are listed and not sent, since nothing goes out unsigned. */
  secrets: Pick<DerivedSecrets, 'available'>;
  /** Called when there is something to deliver. */
  wake: () => void;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds between two looks, default 15,000. */
  pollMs?: number;
  /** Milliseconds since 1970; for tests. */
  now?: () => number;
}

export type Notices = ReturnType<typeof openNotices>;

/** Notices that one transaction adds at most. */
const together = 50;
/** Names that the database was asked for, and need not be again. */
const namesRemembered = 50_000;

/** A process's part in notices. Throws a `ConfigError` where HELPER_NOTICES_URL may not be sent to. */
export function openNotices(options: NoticesOptions) {
  const { config, access, secrets, wake, logger, pollMs = 15_000, now = Date.now } = options;
  const store = createNoticeStore(access);
  const operatorUrl = checkOperatorUrl(config);
  const standard = { monthly_quota: config.monthlyQuota, monthly_cpu_ms: config.monthlyCpuMs };
  const known = new LRUCache<string, true>({ max: namesRemembered });
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let failing = false;
  let closed = false;

  async function look(): Promise<void> {
    try {
      const at = now();
      const found = (await store.find(at, standard)).filter(({ name }) => !known.has(name));
      for (const part of slices(found, together)) {
        if (closed) return;
        const added = await store.add(part, { at, signs: secrets.available, operatorUrl });
        for (const { name } of part) known.set(name, true);
        if (added > 0) wake();
      }
      if (failing) logger.info({}, 'notices are looked for again');
      failing = false;
    } catch (error) {
      if (!failing) logger.warn({ err: error }, 'notices wait for the database');
      failing = true;
    }
  }

  function start(): Promise<void> {
    timer ??= setInterval(start, pollMs).unref();
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  return {
    list: store.list,
    /** Where the operator's go; of the url the host alone, as many have a secret in the rest. */
    operatorHost: operatorUrl === null ? undefined : new URL(operatorUrl).host,
    /** Looks for what is worth a notice, now and again and again; resolves after the first look. */
    start,
    async close(): Promise<void> {
      closed = true;
      clearInterval(timer);
      await looking;
    },
  };
}

/** Where the operator's notices go; null for nowhere. Throws a `ConfigError` for what they may not be sent to. */
export function checkOperatorUrl({
  noticesUrl,
  webhookOrigins,
}: Pick<Config, 'noticesUrl' | 'webhookOrigins'>): string | null {
  if (noticesUrl === undefined) return null;
  try {
    return checkUrl(noticesUrl, parseExemptOrigins(webhookOrigins)).url.href;
  } catch {
    const wanted = 'must be an https url of a public host, without a port, user name or password';
    throw new ConfigError([`HELPER_NOTICES_URL ${wanted}; HELPER_WEBHOOK_ORIGINS exempts other origins`]);
  }
}
