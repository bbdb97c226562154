import { addDelivery } from '../../../../gateway/jobs/webhooks/add-delivery.js';
import type { SenderTables } from '../../../../gateway/jobs/webhooks/tables.js';
import { createKeyAdmin } from '../../../../gateway/keys/admin.js';
import { createKeyStore } from '../../../../gateway/keys/sql-store.js';
import type { TestDatabase } from '../../databases.js';
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
