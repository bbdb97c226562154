import type { Selectable, Transaction } from 'kysely';
import type { Access } from '../database/database.js';
import type { KeyTables } from '../keys/tables.js';
import { operatorReceiver } from '../signing/signing-secrets.js';

/** What is still to be delivered; a row goes when it was accepted, or no try succeeded for a day. Times are ms since 1970. */
interface DeliveryRow {
  /** `msg_…`: the same at each try, as Standard Webhooks wants it. */
  id: string;
  /** Or `operatorReceiver`. */
  tenant_id: string;
  url: string;
  /** The body, the same at each try. */
  payload: string;
  created_at: number;
  /** When it may be tried next. While a process tries it, this is the end of its claim: if that process is killed, another goes on. */
  due_at: number;
  attempts: number;
}

export type DeliveryTables = { webhook_deliveries: DeliveryRow };

/** What a sender reads: deliveries, and which secret their tenants are at. */
export type SenderTables = DeliveryTables & Pick<KeyTables, 'tenants'>;

/** Which secret a tenant is at, and since when. */
export type SecretVersion = Pick<Selectable<KeyTables['tenants']>, 'webhook_version' | 'webhook_rotated_at'>;

/** A delivery that this process alone may try until `due_at`. */
export type ClaimedDelivery = Readonly<Selectable<DeliveryRow>>;

/** Adds a delivery to the transaction of what it is about: both are committed, or neither. */
export async function addDelivery(
  trx: Transaction<DeliveryTables>,
  delivery: Omit<DeliveryRow, 'due_at' | 'attempts'>,
): Promise<void> {
  await trx
    .insertInto('webhook_deliveries')
    .values({ ...delivery, due_at: delivery.created_at, attempts: 0 })
    .execute();
}

/** Deliveries that are still to be made, for any number of processes. */
export function createDeliveryStore({ run }: Pick<Access<SenderTables>, 'run'>) {
  /** A claim is known by its end: a process that claims a delivery after that sets another. */
  async function update(
    { id, due_at }: ClaimedDelivery,
    to: Pick<DeliveryRow, 'due_at' | 'attempts'>,
  ): Promise<void> {
    await run((db) =>
      db
        .updateTable('webhook_deliveries')
        .set(to)
        .where((eb) => eb.and({ id, due_at }))
        .executeTakeFirst(),
    );
  }

  return {
    /** Tenants, and the operator, for whom something is due, with the secret that they are at. */
    async due(now: number): Promise<(Due & SecretVersion)[]> {
      const due = await run((db) =>
        db
          .selectFrom('webhook_deliveries')
          .leftJoin('tenants', 'tenants.id', 'webhook_deliveries.tenant_id')
          .select(({ fn }) => [
            'webhook_deliveries.tenant_id',
            'tenants.webhook_version',
            'tenants.webhook_rotated_at',
            fn.countAll<number>().as('waiting'),
            fn.min('webhook_deliveries.due_at').as('oldest'),
          ])
          .where('webhook_deliveries.due_at', '<=', now)
          .where(({ or, eb }) =>
            or([eb('tenants.id', 'is not', null), eb('webhook_deliveries.tenant_id', '=', operatorReceiver)]),
          )
          .groupBy(['webhook_deliveries.tenant_id', 'tenants.webhook_version', 'tenants.webhook_rotated_at'])
          .execute(),
      );
      return due.map(({ webhook_version, ...row }) => ({ ...row, webhook_version: webhook_version ?? 1 }));
    },

    /** Claims a tenant's oldest that are due, `most` at most, until a time; what another process claims meanwhile is left out. */
    claim: (
      tenant: string,
      { most, now, until }: { most: number; now: number; until: number },
    ): Promise<ClaimedDelivery[]> =>
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
          // PostgreSQL checks this again for a row that another process has just changed, and so leaves out what that one has claimed.
          .where('due_at', '<=', now)
          .returningAll()
          .execute(),
      ),

    /** Has it tried again then, unless the claim has run out and another process has it. */
    retry: (claimed: ClaimedDelivery, dueAt: number): Promise<void> =>
      update(claimed, { due_at: dueAt, attempts: claimed.attempts }),

    /** Lets other processes claim it, as if this try had not been; likewise. */
    giveBack: (claimed: ClaimedDelivery, now: number): Promise<void> =>
      update(claimed, { due_at: now, attempts: claimed.attempts - 1 }),

    /** Forgets it, whichever process has it by now: it was delivered, or never will be. */
    async end({ id }: Pick<ClaimedDelivery, 'id'>): Promise<void> {
      await run((db) => db.deleteFrom('webhook_deliveries').where('id', '=', id).execute());
    },
  };
}

interface Due {
  tenant_id: string;
  waiting: number;
  /** Since when the oldest of them is. */
  oldest: number;
}

/** The tenant with the fewest gets the next slot, else the one that has waited longest; at most `most` each. */
export function chooseTenants<T extends Due>(
  due: readonly T[],
  free: number,
  most: number,
  /** How many of a tenant are being tried, and which of all tries its last was; 0 where it had none. */
  standingOf: (tenant: string) => { held: number; last: number },
): { tenant: T; slots: number }[] {
  const candidates = due.map((tenant) => ({ tenant, slots: 0, ...standingOf(tenant.tenant_id) }));
  for (let slot = 0; slot < free; slot += 1) {
    const [next] = candidates
      .filter(({ tenant, slots, held }) => slots < tenant.waiting && held < most)
      .sort((a, b) => a.held - b.held || a.last - b.last || a.tenant.oldest - b.tenant.oldest);
    if (!next) break;
    next.slots += 1;
    next.held += 1;
  }
  return candidates.filter(({ slots }) => slots > 0);
}
