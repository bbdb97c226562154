import type { UsageTables } from '../../usage/tables.js';
import type { Job } from '../model.js';
import type { DeliveryTables } from '../webhooks/tables.js';

/** A job and what the store needs to know of it besides. Times are ms since 1970. */
export interface JobRow extends Job {
  idempotency_key: string | null;
  idempotency_digest: string | null;
  /** 1 where there are files among its inputs. */
  files: number;
  /** Bytes of its items' results. */
  result_bytes: number;
  /** Fields of a form that all items share, in JSON. */
  fields: string | null;
  /** When something last became of it: an item began, came back, ended or went to the queue. */
  moved_at: number;
  /** Items that have not ended and that the queue has not been given. */
  unqueued: number;
  /** Items in this state. */
  running: number;
}

export interface ItemRow {
  job_id: string;
  idx: number;
  state: string;
  /** 1 once the queue has it. */
  queued: number;
  /** How often it was started and not handed back. */
  attempts: number;
  /** An `ItemInput` in JSON, but for fields that stand at the job; empty once the item has ended. */
  input: string;
  /** What has come of it in JSON; null as long as it is open. */
  ended: string | null;
  /** Its result, where that is small JSON; else null, and the result lies in the result store. */
  text: string | null;
}

/** What a tenant's jobs hold together, those included that have ended. */
export interface JobTenantRow {
  tenant_id: string;
  result_bytes: number;
}

/** The tables that the store writes: its own, and what an item's end adds to. */
export type JobTables = { jobs: JobRow; job_items: ItemRow; job_tenants: JobTenantRow } & UsageTables &
  DeliveryTables;
