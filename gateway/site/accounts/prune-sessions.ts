import { rowsAPiece } from '../../database/rows-a-piece.js';
import type { SiteDatabase } from '../database.js';
import { momentOf } from './account.js';

const keptSessions = 20;

/**
 * Deletes sessions that have run out, and of this user all but the 20 newest: signing in successfully is not slowed down, and
 * each time leaves a row behind. Of very many it deletes some, and the next to sign in more.
 */
export async function pruneSessions(
  database: SiteDatabase,
  userId: string,
  now: () => number = Date.now,
): Promise<void> {
  await database.run((db) =>
    db
      .deleteFrom('connect_sessions')
      .where('id', 'in', (old) =>
        old
          .selectFrom('connect_sessions as old')
          .select('old.id')
          .where((eb) =>
            eb.or([
              eb('old.expiresAt', '<', momentOf(database.kind, now())),
              eb.and([
                eb('old.userId', '=', userId),
                eb(
                  'old.id',
                  'not in',
                  eb
                    .selectFrom('connect_sessions as kept')
                    .select('kept.id')
                    .where('kept.userId', '=', userId)
                    .orderBy('kept.expiresAt', 'desc')
                    .limit(keptSessions),
                ),
              ]),
            ]),
          )
          .limit(rowsAPiece),
      )
      .execute(),
  );
}
