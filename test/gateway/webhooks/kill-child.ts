/** Sends webhooks until it is ended by `kill -9`. */
import { pino } from 'pino';
import { createPost } from '../../../gateway/download/fetch.js';
import type { SenderTables } from '../../../gateway/webhooks/delivery-store.js';
import { createWebhookSender } from '../../../gateway/webhooks/sender.js';
import { connect, type DatabaseAddress } from '../databases.js';
import { signing } from '../signing/signing.js';

const [kind, location, origin] = process.argv.slice(2) as [DatabaseAddress['kind'], string, string];
const database = await connect({ kind, location });
createWebhookSender({
  access: database.access<SenderTables>(),
  post: createPost({ origins: [origin], timeoutMs: 30_000 }),
  secrets: signing.webhooks,
  logger: pino({ level: 'silent' }),
});
// What waits for a receiver keeps no process alive.
setInterval(() => undefined, 60_000);
