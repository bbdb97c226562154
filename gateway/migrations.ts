import type { Kysely, Migration } from 'kysely';
import { createWriterTable } from './database/batch-writer.js';
import type { DatabaseKind } from './database/database.js';
import { addJobRoom, addResultText, createAllJobTables, orderQueueByPlace } from './jobs/migration.js';
import {
  addOperatorColumns,
  addSigningVersion,
  addWebhookVersion,
  createKeyTables,
  createRecipeTable,
} from './keys/tables.js';
import { createQuotaTable } from './limits/counters.js';
import { createNoticeTable } from './notices/store.js';
import { addAccess, createSiteTables, replaceAccountTables } from './site/tables.js';
import { createRequestTable } from './usage/requests.js';
import { createUsageDetail, createUsageTable } from './usage/store.js';

/** Every module's tables in the order in which they came; a migration that has been released is never changed. */
export function migrations(kind: DatabaseKind): Record<string, Migration> {
  return {
    '0001_keys': { up: (db) => createKeyTables(db, kind) },
    '0002_usage': { up: createCountTables },
    '0003_connect': { up: (db) => createSiteTables(db, kind) },
    '0004_signing': { up: addSigningVersion },
    '0005_jobs': { up: (db) => createJobs(db, kind) },
    '0006_job_room': { up: (db) => addJobRoom(db, kind) },
    '0007_job_queue_places': { up: (db) => orderQueueByPlace(db, kind) },
    '0008_job_texts': { up: addResultText },
    '0009_accounts': { up: replaceAccountTables },
    '0010_recipes': { up: (db) => createRecipeTable(db, kind) },
    '0011_operators': { up: (db) => addOperatorColumns(db, kind) },
    '0012_usage_detail': { up: createUsageDetails },
    '0013_notices': { up: (db) => createNoticeTable(db, kind) },
    '0014_access': { up: addAccess },
  };
}

async function createCountTables(db: Kysely<unknown>): Promise<void> {
  await createUsageTable(db);
  await createWriterTable(db);
  await createQuotaTable(db);
}

async function createUsageDetails(db: Kysely<unknown>): Promise<void> {
  await createUsageDetail(db);
  await createRequestTable(db);
}

async function createJobs(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await addWebhookVersion(db);
  await createAllJobTables(db, kind);
}
