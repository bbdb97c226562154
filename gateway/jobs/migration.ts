import type { Kysely } from 'kysely';
import type { DatabaseKind } from '../database/access.js';
import { createQueueTable } from './queue/migration.js';
import { createJobTables } from './store/migration.js';
import { createDeliveryTable } from './webhooks/migration.js';

/** Makes the tables of jobs, their queue, and what is to be told of them. */
export async function createAllJobTables(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await createJobTables(db, kind);
  await createQueueTable(db, kind);
  await createDeliveryTable(db, kind);
}
