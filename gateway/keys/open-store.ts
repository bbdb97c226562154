import type { Config } from '../config.js';
import { openPostgresStore } from './postgres.js';
import { openSqliteStore } from './sqlite.js';
import type { KeyStore } from './store.js';

/** Opens the key store that the configuration names: PostgreSQL, else the embedded database. Throws where it cannot. */
export function openKeyStore({
  databaseUrl,
  dataDir,
}: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<KeyStore> {
  return databaseUrl === undefined ? openSqliteStore(dataDir) : openPostgresStore(databaseUrl);
}
