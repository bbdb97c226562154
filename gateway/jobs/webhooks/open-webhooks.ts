import type { Logger } from 'pino';
import type { Closers } from '../../closers.js';
import type { Config } from '../../config.js';
import type { Access } from '../../database/access.js';
import type { DerivedSecrets } from '../../signing/derived-secrets.js';
import type { CheckedUrl } from '../../source/fetch.js';
import { createPost } from '../../source/post.js';
import { createWebhookSender, type WebhookSenderOptions } from './sender.js';
import type { SenderTables } from './tables.js';

/** A process's part in webhooks. */
export interface Webhooks {
  /**
   * Judges a url that is to be told, without any I/O. Throws a `GatewayError`: `storage_unavailable`, naming HELPER_SIGNING_SECRET, where
   * nothing could be signed; `invalid_input` on `field`; `source_refused`.
   */
  check(raw: string, field: string): CheckedUrl;
  /** Says that something has just been added to what is to be delivered. */
  wake(): void;
}

export interface WebhooksOptions {
  config: Pick<Config, 'webhookOrigins' | 'sourceTimeoutMs'>;
  access: Access<SenderTables>;
  /** What webhooks are signed with: `SigningSecrets.webhooks`. */
  secrets: DerivedSecrets;
  logger: Logger;
  closers: Closers;
  /** Told of each try. */
  observe?: WebhookSenderOptions['observe'];
}

/** A file may be long in coming, an answer not: as long as a claim lasts, nobody else can take a dead process's delivery. */
const mostMs = 15_000;

/** Opens it by the configuration, sending from now on; what is opened is left to `closers`. */
export function openWebhooks({ config, closers, ...options }: WebhooksOptions): Webhooks {
  const timeoutMs = Math.min(config.sourceTimeoutMs, mostMs);
  const post = closers.own(createPost({ origins: config.webhookOrigins, timeoutMs }));
  const { wake } = closers.own(createWebhookSender({ ...options, post }));
  return {
    check(raw, field) {
      options.secrets.requireMaster();
      return post.check(raw, field);
    },
    wake,
  };
}
