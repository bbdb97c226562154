import { type Generated, type Kysely, sql } from 'kysely';
import { compileFields } from '../../schemas/fields.js';
import { createAdminVocabulary } from '../../schemas/vocabulary.js';
import type { Access, DatabaseKind } from '../database/database.js';
import { type Prune, pruneTable } from '../database/prune-daily.js';
import { requireValid } from '../errors.js';
import type { Unchecked } from '../keys/inputs.js';
import { iso, randomBase62 } from '../keys/model.js';
import { pageSizeSchema, tenantName } from '../keys/schemas.js';
import { type KeyTables, runAll } from '../keys/tables.js';
import { fewestDays } from '../limits/counters.js';
import { operatorReceiver } from '../signing/signing-secrets.js';
import { addDelivery, type DeliveryTables } from '../webhooks/delivery-store.js';
import * as notice from './notice.js';

interface NoticeRow {
  id: Generated<number>;
  /** As of `Found`. */
  name: string;
  at: number;
  type: string;
  tenant_id: string | null;
  /** In JSON. */
  data: string;
}

export type NoticeTables = { notices: NoticeRow } & Pick<KeyTables, 'tenants'> & DeliveryTables;

interface NoticeQuery {
  type?: notice.Noticed['type'] | undefined;
  tenant?: string | undefined;
  after?: number | undefined;
  limit?: number | undefined;
}

/** What a list of notices accepts. */
export const noticeInput = compileFields<NoticeQuery & { limit: number }>(createAdminVocabulary({}), {
  properties: {
    type: { type: 'string', enum: [...notice.noticeTypes], description: 'Only notices of this type.' },
    tenant: { ...tenantName, description: 'Only what concerns this tenant.' },
    after: {
      ...{ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      form: 'the next of the page before, unchanged',
      description: '`next` of the page before.',
    },
    limit: pageSizeSchema('Notices'),
  },
});

/** `tenant` is the present name; null for what is the operator's own, and where the tenant was deleted. */
export type NoticeView = notice.Noticed & { id: number; at: string; tenant: string | null; text: string };

export type Budgets = Partial<Record<keyof typeof notice.budgets, number | undefined>>;

const dayMs = 86_400_000;
/** Any number that nothing else locks; ASCII for `hgnote`. */
const noticeLock = 0x68676e6f7465;

export function createNoticeStore({ kind, run, change }: Access<NoticeTables>) {
  const read = async <Row>(query: ReturnType<typeof sql<Row>>) => (await run((db) => query.execute(db))).rows;

  /** Tenants that have used a good part of a budget, `standard` where they have none of their own. */
  async function findBudgets(budget: keyof Budgets, period: string, standard: number | null) {
    // CPU has an account of its own, in microseconds.
    const [account, used] =
      budget === 'monthly_cpu_ms' ? [sql`t.id || ' cpu'`, sql`q.used / 1000`] : [sql`t.id`, sql`q.used`];
    // The two tables' ids are collated differently there.
    const comparable = kind === 'postgres' ? sql`(${account}) collate "default"` : account;
    const limit = sql`coalesce(t.${sql.ref(budget)}, p.${sql.ref(budget)}, cast(${standard} as bigint))`;
    const rows = await read(sql<notice.NoticedTenant & { limit: number; used: number }>`
      select t.id, t.name, t.notice_url, ${limit} as "limit", ${used} as used
      from tenants t left join plans p on p.name = t.plan
      join quota_use q on q.tenant = ${comparable} and q.month = ${period}
      where t.suspended_at is null and ${limit} > 0 and ${used} * 2 >= ${limit}`);
    return rows.map((row) => notice.budgetNotice(row, budget, period));
  }

  async function findKeys(now: number) {
    const rows = await read(sql<notice.ExpiringKey>`
      select k.id as key, k.label, k.created_at, k.expires_at, t.id, t.name, t.notice_url
      from keys k join tenants t on t.id = k.tenant_id
      where k.revoked_at is null and t.suspended_at is null
      and k.expires_at between ${now - notice.expiredForMs} and ${now + notice.expiringForMs}`);
    return rows.map((row) => notice.keyNotice(row, now));
  }

  /** An attempt is known to have failed once the next has begun: five of them, or an hour. Not of notices of this: there would be no end. */
  async function findWebhooks(now: number) {
    const rows = await read(sql<notice.FailingWebhook>`
      select d.tenant_id, t.name, t.notice_url, d.url,
        count(*) as waiting, max(d.attempts) as attempts, min(d.created_at) as since
      from webhook_deliveries d left join tenants t on t.id = d.tenant_id
      where (d.attempts > 5 or d.attempts > 1 and d.created_at <= ${now - 3_600_000})
      and (t.id is not null or d.tenant_id = ${operatorReceiver}) and t.suspended_at is null
      and d.payload not like '{"type":"webhook.failing"%'
      group by d.tenant_id, t.name, t.notice_url, d.url`);
    return rows.map((row) => notice.webhookNotice(row, now));
  }

  return {
    /** All that is worth a notice now, whether there is one or not. */
    async find(now: number, standard: Budgets): Promise<notice.Found[]> {
      const period = iso(now).slice(0, 7);
      const found = await Promise.all([
        findBudgets('monthly_quota', period, standard.monthly_quota ?? null),
        findBudgets('monthly_cpu_ms', period, standard.monthly_cpu_ms ?? null),
        findKeys(now),
        findWebhooks(now),
      ]);
      return found.flat().filter((each) => each !== undefined);
    },

    /** Adds what is new, in one transaction with what is to be delivered where notices can be signed; returns how many. */
    add: (
      found: readonly notice.Found[],
      { at, signs, operatorUrl }: { at: number; signs: boolean; operatorUrl: string | null },
    ) =>
      change(async (trx) => {
        // One process after the other: two that insert the same names in another order would lock each other out.
        if (kind === 'postgres') await sql`select pg_advisory_xact_lock(${noticeLock}::bigint)`.execute(trx);
        let added = 0;
        for (const each of found) {
          const { type, name, noticeUrl, data } = each;
          const row = { name, at, type, tenant_id: data.tenant_id, data: JSON.stringify(data) };
          const { numInsertedOrUpdatedRows } = await trx
            .insertInto('notices')
            .values(row)
            .onConflict((conflict) => conflict.column('name').doNothing())
            .executeTakeFirstOrThrow();
          if (numInsertedOrUpdatedRows !== 1n) continue;
          added += 1;
          const payload = JSON.stringify({ type, timestamp: iso(at), data });
          for (const [tenant_id, url] of [
            [data.tenant_id, noticeUrl],
            [operatorReceiver, operatorUrl],
          ] as const) {
            if (!signs || tenant_id === null || url === null) continue;
            const delivery = { id: `msg_${randomBase62(22)}`, tenant_id, url, payload, created_at: at };
            await addDelivery(trx.withTables<DeliveryTables>(), delivery);
          }
        }
        return added;
      }),

    /** Newest first, of a tenant or of all; `next` is the `after` of the next page. Rejects with `invalid_input`. */
    async list(query: Unchecked<NoticeQuery> = {}, tenantId?: string) {
      const { type, after, limit } = requireValid(noticeInput.check(query));
      const rows = await run((db) => {
        let select = db
          .selectFrom('notices')
          .leftJoin('tenants', 'tenants.id', 'notices.tenant_id')
          .select(['notices.id', 'at', 'type', 'data', 'tenants.name as tenant'])
          .orderBy('notices.id', 'desc')
          .limit(limit + 1);
        if (tenantId !== undefined) select = select.where('tenant_id', '=', tenantId);
        if (type !== undefined) select = select.where('type', '=', type);
        if (after !== undefined) select = select.where('notices.id', '<', after);
        return select.execute();
      });
      const notices = rows.slice(0, limit).map(({ id, at, type, tenant, data: text }) => {
        const data: notice.Noticed['data'] = JSON.parse(text);
        return { id, at: iso(at), type, tenant, text: data.text, data } as NoticeView;
      });
      return { notices, next: rows.length > limit ? (notices.at(-1)?.id ?? null) : null };
    },
  };
}

/** Deletes notices that are older than `days`; those of this month and of keys that will expire are still needed. */
export function pruneNotices(days: number): Prune {
  const forMs = Math.max(days, fewestDays) * dayMs;
  return pruneTable('notices', 'id', (now) => sql`at < ${now - forMs}`);
}

/** Creates the table of notices. No foreign keys: as usage figures, they outlive tenants and keys. */
export async function createNoticeTable(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const text = kind === 'postgres' ? 'text collate "C"' : 'text';
  const serial = kind === 'postgres' ? 'bigserial primary key' : 'integer primary key autoincrement';
  await runAll(db, [
    `create table notices (
      id ${serial}, name ${text} not null unique, at bigint not null, type text not null, tenant_id ${text},
      data text not null)`,
    'create index notices_of_tenant on notices (tenant_id, id)',
    'create index keys_expiring on keys (expires_at) where revoked_at is null',
  ]);
}
