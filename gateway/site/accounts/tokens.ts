import { parseTime } from '../../../schemas/keywords/future.js';
import { quote } from '../../../schemas/quote.js';
import { GatewayError } from '../../errors.js';
import type { TokenOptions } from '../../keys/inputs.js';
import { hashSecret, iso, isoOrNull, randomBase62 } from '../../keys/model.js';
import type { SiteDatabase, SiteRole, TokenRow } from '../tables.js';
import { actorOf, type By, createAudited } from './account.js';
import { requireOperator } from './member-admin.js';

const tokenPattern = /^hgt_[0-9A-Za-z]{32}$/;
/** How exactly the last use is noted, so that a busy program writes no row with each call. */
const usedEveryMs = 60_000;

/** A program that calls the JSON API, by its token. */
export type Program = { actor: string; role: SiteRole };

export type Tokens = ReturnType<typeof createTokens>;

/** Tokens of programs for the JSON API and `/metrics`. */
export function createTokens(database: SiteDatabase, now: () => number = Date.now) {
  const audited = createAudited(database, now);
  const { run } = database;

  return {
    /** Newest first, those that have expired too. */
    async list() {
      const rows = await run((db) =>
        db.selectFrom('connect_tokens').selectAll().orderBy('created_at', 'desc').orderBy('id').execute(),
      );
      return rows.map(viewToken);
    },

    /** The answer has the token, this once. `exists` where another has the label, by which the audit log names it. */
    async create({ label, role, expires_at }: TokenOptions, by: By) {
      const token = `hgt_${randomBase62(32)}`;
      const row: TokenRow = {
        id: `tok_${randomBase62(12)}`,
        ...{ label, role, hash: hashSecret(token), created_at: now(), created_by: actorOf(by) },
        expires_at: parseTime(expires_at ?? '') ?? null,
        last_used_at: null,
      };
      await audited(async (trx, note) => {
        await requireOperator(trx, by);
        const same = trx.selectFrom('connect_tokens').select('id').where('label', '=', label);
        if (await same.executeTakeFirst()) {
          throw new GatewayError('exists', {
            message: `There is a token ${quote(label)} already; revoke it first.`,
          });
        }
        await trx.insertInto('connect_tokens').values(row).execute();
        const detail = { token: row.id, label, role, expires_at: isoOrNull(row.expires_at) };
        await note({ actor: actorOf(by), action: 'token.create', detail });
      });
      return { ...viewToken(row), token };
    },

    /** It opens nothing from then on. */
    revoke: (id: string, by: By) =>
      audited(async (trx, note) => {
        await requireOperator(trx, by);
        const rows = trx.deleteFrom('connect_tokens').where('id', '=', id);
        const row = await rows.returningAll().executeTakeFirst();
        if (!row) throw new GatewayError('not_found', { message: `There is no token ${quote(id)}.` });
        const detail = { token: id, label: row.label };
        await note({ actor: actorOf(by), action: 'token.revoke', detail });
        return viewToken(row);
      }),

    /** Whose token it is; an index's timing reveals nothing, as the hash does not help to choose one. */
    async find(token: string): Promise<Program | undefined> {
      if (!tokenPattern.test(token)) return undefined;
      const at = now();
      const row = await run((db) =>
        db.selectFrom('connect_tokens').selectAll().where('hash', '=', hashSecret(token)).executeTakeFirst(),
      );
      if (!row || (row.expires_at !== null && row.expires_at <= at)) return undefined;
      if (at - (row.last_used_at ?? 0) >= usedEveryMs) {
        const update = { last_used_at: at };
        const noted = run((db) =>
          db.updateTable('connect_tokens').set(update).where('id', '=', row.id).execute(),
        );
        // The call does not wait for it, and must not fail by it.
        noted.catch(() => undefined);
      }
      return { actor: `token:${row.label}`, role: row.role };
    },
  };
}

function viewToken({ id, label, role, created_at, created_by, expires_at, last_used_at }: TokenRow) {
  const times = { expires_at: isoOrNull(expires_at), last_used_at: isoOrNull(last_used_at) };
  return { id, label, role, created_at: iso(created_at), created_by, ...times };
}
