import type { KeyTables } from '../../keys/tables.js';

/** What is still to be told; a row goes when it was told, or nobody has taken it for a day. Times are ms since 1970. */
export interface DeliveryRow {
  /** `msg_…`: the same at each try, as Standard Webhooks wants it. */
  id: string;
  tenant_id: string;
  url: string;
  /** The body, the same at each try. */
  payload: string;
  created_at: number;
  /** When it may be tried next. While a process tries it, this is the end of its claim: if that process is killed, another goes on. */
  due_at: number;
  /** Tries that have begun. */
  attempts: number;
}

export type DeliveryTables = { webhook_deliveries: DeliveryRow };

/** What a sender reads: deliveries, and which secret their tenants are at. */
export type SenderTables = DeliveryTables & Pick<KeyTables, 'tenants'>;
