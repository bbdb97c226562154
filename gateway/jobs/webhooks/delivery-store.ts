import type { Selectable } from 'kysely';
import type { Access } from '../../database/access.js';
import type { Due } from './choose.js';
import type { SecretVersion } from './sign.js';
import type { DeliveryRow, SenderTables } from './tables.js';

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
