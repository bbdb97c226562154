import { createHash, randomBytes } from 'node:crypto';
import { isDuplicate } from '../../database/database-error.js';
import type { SiteDatabase } from '../database.js';

const keepMs = 86_400_000;

/**
 * Forms that may be sent once. What answers such a form shows a secret, and a reload or the back button sends the form again:
 * without this, each time would make another key. In the database, as the second sending may reach another gateway.
 */
export interface Once {
  /** A mark for a form. */
  mark(): string;
  /** True for a mark's first sending within a day. */
  claim(mark: string): Promise<boolean>;
  /** Takes a claim back, for a form that was refused and may be sent again. */
  release(mark: string): Promise<void>;
}

export function createOnce(database: SiteDatabase, now: () => number = Date.now): Once {
  return {
    mark: () => randomBytes(12).toString('base64url'),
    async claim(mark) {
      const row = { id: idOf(mark), at: now() };
      try {
        await database.run((db) => db.insertInto('connect_once').values(row).execute());
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
      await database.run((db) =>
        db
          .deleteFrom('connect_once')
          .where('at', '<', now() - keepMs)
          .execute(),
      );
      return true;
    },
    async release(mark) {
      await database.run((db) => db.deleteFrom('connect_once').where('id', '=', idOf(mark)).execute());
    },
  };
}

/** Whatever was sent as the mark has one form and length in the table. */
function idOf(mark: string): string {
  return createHash('sha256').update(mark).digest('base64url');
}
