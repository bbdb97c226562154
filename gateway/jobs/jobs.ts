import type { GatewayError } from '../errors.js';
import type { StoredBytes } from '../http/flow/pieces.js';
import type { Item, ItemInput, ItemResult, ItemState, JobState } from './model.js';

/** A job as its tenant sees it. Times are ISO 8601. */
export interface JobView {
  id: string;
  service: string;
  state: JobState;
  total: number;
  done: number;
  failed: number;
  cancelled: number;
  created_at: string;
  finished_at: string | null;
  /** When its results are forgotten; null until it has ended. */
  expires_at: string | null;
}

/** An item as its tenant sees it; `result` says what `GET …/items/N` will answer with. */
export interface ItemView extends Pick<Item, 'index' | 'error'> {
  state: ItemState;
  result?: Pick<ItemResult, 'type' | 'bytes'> & { url: string };
}

/** A request for a job whose form has been judged; its inputs are judged one by one as they are worked on. */
export interface JobRequest {
  tenantId: string;
  keyId: string;
  service: string;
  webhookUrl: string | undefined;
  inputs: readonly ItemInput[];
  /** Bytes of the inputs' JSON. */
  textBytes: number;
  /** Bytes of the files of an item, by their fields. */
  files: readonly ReadonlyMap<string, Uint8Array>[];
  /** Bytes of the files that all items share, likewise. */
  sharedFiles: ReadonlyMap<string, Uint8Array>;
  /** What the client calls its request, and what tells it from another. */
  idempotency?: { key: string; digest: string };
}

/** What an item has come to: where its result lies, or its error as it would have been answered. */
export type ItemAnswer =
  | { state: 'done'; result: ItemResult; stored: StoredBytes }
  | { state: 'failed'; error: GatewayError }
  | { state: 'waiting' | 'running' | 'cancelled' };

/** A tenant's jobs, for the API and the site. What there is not, or is another tenant's, is `not_found`. */
export interface Jobs {
  /** Throws where no job can be made in this process, such as where nobody else would see its files. */
  requireOpen(): void;
  /** Rejects with `conflict` where the idempotency key was used for another request. */
  create(request: JobRequest): Promise<{ job: JobView; replayed: boolean }>;
  job(tenantId: string, id: string): Promise<JobView>;
  list(
    tenantId: string,
    page: { limit: number; after?: string },
  ): Promise<{ jobs: JobView[]; next: string | null }>;
  items(
    tenantId: string,
    id: string,
    page: { limit: number; after?: number },
  ): Promise<{ items: ItemView[]; next: number | null }>;
  answer(tenantId: string, id: string, index: number): Promise<ItemAnswer & { service: string }>;
  /** Cancels what waits. */
  cancel(tenantId: string, id: string): Promise<JobView>;
  /** Cancels what waits, or forgets a job that has ended, with its results. Gives it as it was. */
  delete(tenantId: string, id: string): Promise<JobView>;
}
