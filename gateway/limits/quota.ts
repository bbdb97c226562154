import { after, type Now } from '../after.js';
import type { QuotaAccount, QuotaLedger } from './quota-ledger.js';
import type { SharedCounts } from './shared-counts.js';

export interface QuotaState {
  limit: number;
  remaining: number;
}

export type QuotaVerdict =
  | (QuotaState & { granted: true; settle(charge: boolean): void })
  /** `reserved`: calls under way have what is lacking, and give it back where they fail. */
  | (QuotaState & { granted: false; reserved: boolean });

/** A monthly quota: a call is reserved before it runs, and charged or given back when it is answered. */
export interface Quota {
  reserve(tenant: string, month: string, limit: number): Now<QuotaVerdict>;
}

interface Reserved {
  granted: boolean;
  used: number;
}

/** What shares quotas between gateways or processes. */
export type QuotaSharing = Pick<SharedCounts, 'run' | 'quota'>;

/**
 * Reserving before the call makes the quota exact for parallel calls. Where nothing is shared each gateway counts its own calls
 * and learns of the others' with every batch it writes.
 *
 * The limiter library is no help here: it counts refused calls too, and its memory store hands a month to setTimeout,
 * which takes 24.8 days at most and fires at once for more.
 */
export function createQuota(ledger: QuotaLedger, sharing?: QuotaSharing): Quota {
  function reserveHere(account: QuotaAccount, limit: number): Reserved {
    const used = account.used();
    return used < limit ? { granted: true, used: used + 1 } : { granted: false, used };
  }

  function verdictOf(
    account: QuotaAccount,
    limit: number,
    { granted, used }: Reserved,
    giveBack?: () => void,
  ): QuotaVerdict {
    const remaining = Math.max(0, limit - used);
    if (!granted) return { limit, remaining, granted, reserved: account.refuse(limit) };
    account.hold();
    let open = true;
    const settle = (charge: boolean) => {
      if (!open) return;
      open = false;
      if (charge) return account.charge();
      account.release();
      giveBack?.();
    };
    return { limit, remaining, granted, settle };
  }

  async function reserveShared(
    { run, quota }: QuotaSharing,
    account: QuotaAccount,
    limit: number,
  ): Promise<QuotaVerdict> {
    const name = `${account.tenant}:${account.month}`;
    const shared = await run(() => quota.reserve(name, limit, account.charged()));
    if (!shared) return verdictOf(account, limit, reserveHere(account, limit));
    return verdictOf(account, limit, shared, () => void run(() => quota.release(name, account.charged())));
  }

  function reserve(account: QuotaAccount, limit: number): Now<QuotaVerdict> {
    return sharing
      ? reserveShared(sharing, account, limit)
      : verdictOf(account, limit, reserveHere(account, limit));
  }

  return {
    reserve: (tenant, month, limit) =>
      after(ledger.open(tenant, month), (account) => reserve(account, limit)),
  };
}
