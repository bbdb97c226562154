import type { ServerResponse } from 'node:http';
import { pino } from 'pino';
import { createPost, type Post } from '../../../../gateway/download/fetch.js';
import { addDelivery, type SenderTables } from '../../../../gateway/jobs/webhooks/delivery-store.js';
import { createWebhookSender, type WebhookSenderOptions } from '../../../../gateway/jobs/webhooks/sender.js';
import { createKeyAdmin } from '../../../../gateway/keys/admin.js';
import { createKeyStore } from '../../../../gateway/keys/store.js';
import { until } from '../../../needs.js';
import type { TestDatabase } from '../../databases.js';
import { type PostServer, startPostServer } from '../../download/post-server.js';
import { signing } from '../../signing/signing.js';

export type Deliveries = Awaited<ReturnType<typeof openDeliveries>>;

/** A database's deliveries as a test adds and sees them. */
export async function openDeliveries(database: TestDatabase, now: () => number) {
  const opened = await database.connect();
  const access = opened.access<SenderTables>();
  const admin = createKeyAdmin({
    store: createKeyStore(opened.access()),
    signing,
    services: () => [],
    now,
  });
  let last = 0;
  return {
    access,
    admin,
    /** A tenant's id. */
    tenant: async (name: string) => (await admin.createTenant(name, 'test')).id,
    async add(tenant_id: string, url: string, payload = '{"type":"job.finished"}') {
      last += 1;
      const id = `msg_${last}`;
      const delivery = { id, tenant_id, url, payload, created_at: now() };
      await opened.access().change((trx) => addDelivery(trx, delivery));
      return id;
    },
    rows: () => access.run((db) => db.selectFrom('webhook_deliveries').selectAll().orderBy('id').execute()),
  };
}

/** A receiver, a clock, and in each test senders on a database of its own; all looks of a sender but its first are asked for. */
export function serveSending(database: () => TestDatabase) {
  const answers: Record<string, (response: ServerResponse) => void> = {};
  const senders: ReturnType<typeof createWebhookSender>[] = [];
  const posts: Post[] = [];
  const logged: string[] = [];
  const clock = { now: 0 };
  let server: PostServer;
  let deliveries: Deliveries;
  before(async () => {
    server = await startPostServer((response, { path }) =>
      answers[path] ? answers[path](response) : response.writeHead(204).end(),
    );
  });
  beforeEach(async () => {
    clock.now = Date.now();
    logged.length = 0;
    server.received.length = 0;
    for (const path of Object.keys(answers)) delete answers[path];
    deliveries = await openDeliveries(database(), () => clock.now);
  });
  afterEach(async () => {
    await Promise.all(senders.splice(0).map((sender) => sender.close()));
    for (const post of posts.splice(0)) await post.close();
  });
  after(() => server?.close());

  return {
    answers,
    clock,
    logged,
    server: () => server,
    deliveries: () => deliveries,
    add: (tenant: string, path: string, payload?: string) =>
      deliveries.add(tenant, server.origin + path, payload),
    /** Another process's sender. */
    async open(options: Partial<WebhookSenderOptions> = {}) {
      const opened = await database().connect();
      const post = createPost({ origins: [server.origin], timeoutMs: 30_000 });
      const sender = createWebhookSender({
        access: opened.access<SenderTables>(),
        post,
        secrets: signing.webhooks,
        logger: pino({ level: 'debug' }, { write: (line: string) => logged.push(line) }),
        pollMs: 3_600_000,
        closeMs: 20,
        now: () => clock.now,
        random: () => 0,
        ...options,
      });
      senders.push(sender);
      posts.push(post);
      return sender;
    },
    /** When so many requests have come. */
    come: (count: number) => until(() => server.received.length >= count),
    /** When a delivery has been tried so often and is nobody's; gives its row. */
    tried: (id: string, attempts: number) =>
      until(async () =>
        (await deliveries.rows()).find(
          (row) => row.id === id && row.attempts === attempts && row.due_at <= clock.now + 30_000,
        ),
      ),
    /** When nothing is left to deliver. */
    empty: () => until(async () => (await deliveries.rows()).length === 0),
  };
}
