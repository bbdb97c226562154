import type { Transaction } from 'kysely';
import type { DeliveryRow, DeliveryTables } from './tables.js';

/** Has something told to a webhook, once the transaction has ended: what ended is then told, whoever is killed in between. */
export async function addDelivery(
  trx: Transaction<DeliveryTables>,
  delivery: Omit<DeliveryRow, 'due_at' | 'attempts'>,
): Promise<void> {
  await trx
    .insertInto('webhook_deliveries')
    .values({ ...delivery, due_at: delivery.created_at, attempts: 0 })
    .execute();
}
