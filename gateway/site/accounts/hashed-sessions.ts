import type { DBAdapter } from 'better-auth/types';
import { hashSecret } from '../../keys/hash-secret.js';
import type { SiteDatabase } from '../database.js';

interface Statement {
  model: string;
  where?: { field: string; value: unknown }[];
  data?: Record<string, unknown>;
  update?: Record<string, unknown>;
}

/**
 * better-auth's database adapter, with the tokens of sessions kept as SHA-256 only. better-auth itself stores them as they
 * are and relies on the cookie's signature; but the secret that signs lies in the same database, so that whoever reads a
 * backup could take over every session in it.
 * Tokens of an identity provider are not kept at all. Statements also wait out another process's lock on SQLite.
 */
export function hashSessions(base: DBAdapter, database: Pick<SiteDatabase, 'run'>): DBAdapter {
  const wrap = <A extends object>(adapter: A): A =>
    new Proxy(adapter, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function') return own;
        if (name === 'transaction') {
          return (work: (trx: object) => unknown) => own.call(target, (trx: object) => work(wrap(trx)));
        }
        return async (statement: Statement, ...rest: unknown[]) => {
          if (typeof statement?.model !== 'string') return own.call(target, statement, ...rest);
          const { hidden, restore } = hide(statement);
          return restore(await database.run(() => own.call(target, hidden, ...rest)));
        };
      },
    });
  return wrap(base);
}

/** A statement as the database gets it, and the way to give the caller its own tokens back. */
function hide(statement: Statement): { hidden: Statement; restore: (result: unknown) => unknown } {
  if (statement.model === 'account') return { hidden: forgetTokens(statement), restore: (result) => result };
  if (statement.model !== 'session') return { hidden: statement, restore: (result) => result };
  const plain = new Map<string, string>();

  function hash(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(hash);
    if (typeof value !== 'string') return value;
    const digest = hashSecret(value);
    plain.set(digest, value);
    return digest;
  }
  function hashIn(row: Record<string, unknown>): Record<string, unknown> {
    return 'token' in row ? { ...row, token: hash(row.token) } : row;
  }
  function restore(result: unknown): unknown {
    if (Array.isArray(result)) return result.map(restore);
    if (typeof result !== 'object' || result === null || !('token' in result)) return result;
    return { ...result, token: plain.get(String(result.token)) ?? result.token };
  }

  const { where, data, update } = statement;
  const hidden: Statement = {
    ...statement,
    ...(where && {
      where: where.map((part) => (part.field === 'token' ? { ...part, value: hash(part.value) } : part)),
    }),
    ...(data && { data: hashIn(data) }),
    ...(update && { update: hashIn(update) }),
  };
  return { hidden, restore };
}

/** The site asks an identity provider who somebody is and for nothing more: its tokens are of no use afterwards. */
function forgetTokens(statement: Statement): Statement {
  const forget = (row: Record<string, unknown>) => {
    const { accessToken, refreshToken, idToken, ...rest } = row;
    return rest;
  };
  const { data, update } = statement;
  return { ...statement, ...(data && { data: forget(data) }), ...(update && { update: forget(update) }) };
}
