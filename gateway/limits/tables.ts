/** Calls that count against a tenant's quota, by calendar month. */
export interface QuotaRow {
  tenant: string;
  /** UTC, `YYYY-MM`. */
  month: string;
  used: number;
}

export type QuotaTables = { quota_use: QuotaRow };
