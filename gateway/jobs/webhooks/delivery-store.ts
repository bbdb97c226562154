import type { Selectable, Transaction } from 'kysely';
import type { Access } from '../../database/database.js';
import type { KeyTables } from '../../keys/tables.js';
import type { SecretVersion } from './sign.js';

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

/** A tenant for whom something is due, with the secret that he is at. */
export type DueTenant = Due & SecretVersion;

/** A delivery that this process alone may try until `due_at`. */
export type ClaimedDelivery = Readonly<Selectable<DeliveryRow>>;

/** Deliveries that are still to be made, for any number of processes. */
export interface DeliveryStore {
  due(now: number): Promise<DueTenant[]>;
  /** Takes a tenant's oldest that are due, `most` at most, until a time; what another process takes meanwhile is left out. */
  claim(tenant: string, options: { most: number; now: number; until: number }): Promise<ClaimedDelivery[]>;
  /** Has it tried again then, unless the claim has run out and another process has it. */
  retry(claimed: ClaimedDelivery, dueAt: number): Promise<void>;
  /** Lets others take it, as if this try had not been; likewise. */
  giveBack(claimed: ClaimedDelivery, now: number): Promise<void>;
  /** Forgets it, whoever has it by now: it was delivered, or never will be. */
  end(claimed: ClaimedDelivery): Promise<void>;
}

export function createDeliveryStore({ run }: Pick<Access<SenderTables>, 'run'>): DeliveryStore {
  /** A claim is known by its end: whoever takes a delivery after that sets another. */
  const update = ({ id, due_at }: ClaimedDelivery, to: Pick<DeliveryRow, 'due_at' | 'attempts'>) =>
    run((db) =>
      db
        .updateTable('webhook_deliveries')
        .set(to)
        .where('id', '=', id)
        .where('due_at', '=', due_at)
        .executeTakeFirst(),
    );

  return {
    due: (now) =>
      run((db) =>
        db
          .selectFrom('webhook_deliveries')
          .innerJoin('tenants', 'tenants.id', 'webhook_deliveries.tenant_id')
          .select(({ fn }) => [
            'webhook_deliveries.tenant_id',
            'tenants.webhook_version',
            'tenants.webhook_rotated_at',
            fn.countAll<number>().as('waiting'),
            fn.min('webhook_deliveries.due_at').as('oldest'),
          ])
          .where('webhook_deliveries.due_at', '<=', now)
          .groupBy(['webhook_deliveries.tenant_id', 'tenants.webhook_version', 'tenants.webhook_rotated_at'])
          .execute(),
      ),

    claim: (tenant, { most, now, until }) =>
      run((db) =>
        db
          .updateTable('webhook_deliveries')
          .set(({ eb }) => ({ due_at: until, attempts: eb('attempts', '+', 1) }))
          .where('id', 'in', (oldest) =>
            oldest
              .selectFrom('webhook_deliveries')
              .select('id')
              .where('tenant_id', '=', tenant)
              .where('due_at', '<=', now)
              .orderBy('due_at')
              .limit(most),
          )
          // PostgreSQL asks this once more of a row that another has just changed, and so leaves out what that one has taken.
          .where('due_at', '<=', now)
          .returningAll()
          .execute(),
      ),

    async retry(claimed, dueAt) {
      await update(claimed, { due_at: dueAt, attempts: claimed.attempts });
    },
    async giveBack(claimed, now) {
      await update(claimed, { due_at: now, attempts: claimed.attempts - 1 });
    },
    async end({ id }) {
      await run((db) => db.deleteFrom('webhook_deliveries').where('id', '=', id).execute());
    },
  };
}

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

/** A tenant for whom something is due. */
interface Due {
  tenant_id: string;
  /** Deliveries that are due. */
  waiting: number;
  /** Since when the oldest of them is. */
  oldest: number;
}

/** How tenants stand in this process. */
interface TenantStanding {
  /** Deliveries of a tenant that are being tried. */
  running(tenant: string): number;
  /** Which of all tries its last was; 0 where it had none. */
  lastTurn(tenant: string): number;
}

/**
 * Whose deliveries get the free places: who has fewest gets the next, among them who has had none for longest. So a tenant whose
 * receivers answer slowly, or never, holds up his own deliveries alone. Pure; `most` is of one tenant.
 */
export function chooseTenants<T extends Due>(
  due: readonly T[],
  free: number,
  most: number,
  { running, lastTurn }: TenantStanding,
): { tenant: T; places: number }[] {
  const candidates = due.map((tenant) => ({
    tenant,
    places: 0,
    held: running(tenant.tenant_id),
    turn: lastTurn(tenant.tenant_id),
  }));
  for (let place = 0; place < free; place += 1) {
    const [next] = candidates
      .filter(({ tenant, places, held }) => places < tenant.waiting && held < most)
      .sort((a, b) => a.held - b.held || a.turn - b.turn || a.tenant.oldest - b.tenant.oldest);
    if (!next) break;
    next.places += 1;
    next.held += 1;
  }
  return candidates.filter(({ places }) => places > 0);
}
