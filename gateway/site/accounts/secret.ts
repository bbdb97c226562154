import { randomBytes } from 'node:crypto';
import type { SiteDatabase } from '../database.js';

/**
 * The secret that signs cookies and forms: made at the first start and kept in the database, so that all gateways on it
 * share it and nobody has to set it. It is worth nothing to whoever reads the database: sessions are kept there as hashes.
 */
export async function loadSecret(database: SiteDatabase): Promise<string> {
  const name = 'secret';
  const value = randomBytes(32).toString('base64url');
  // Of several gateways that start at once, the first one's stays.
  await database.run((db) =>
    db
      .insertInto('connect_settings')
      .values({ name, value })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute(),
  );
  const row = await database.run((db) =>
    db.selectFrom('connect_settings').select('value').where('name', '=', name).executeTakeFirstOrThrow(),
  );
  return row.value;
}
