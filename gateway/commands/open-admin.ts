import { loadConfig } from '../config.js';
import { resetOperator } from '../connect/auth/first-operator.js';
import { createConnectDatabase } from '../connect/database.js';
import { openDatabase } from '../database/database.js';
import { discoverPlugins } from '../discover.js';
import { createKeyAdmin, type KeyAdmin } from '../keys/admin.js';
import { createKeyStore } from '../keys/sql-store.js';
import { builtinPlugins } from '../registry.js';
import type { OpenedOperators } from './operator.js';

/** Opens the accounts of the key-management site, for one command. */
export async function openOperators(): Promise<OpenedOperators> {
  const database = await openDatabase(loadConfig(process.env));
  const connect = createConnectDatabase(database.db, database.kind);
  return { reset: (email) => resetOperator(connect, email), close: () => database.close() };
}

/** Opens the key store that the gateway uses, for one command. The helpers' ids come from their paths: no plugin is run. */
export async function openAdmin(): Promise<{ admin: KeyAdmin; close: () => Promise<void> }> {
  const config = loadConfig(process.env);
  const found = await Promise.all([builtinPlugins, ...config.pluginDirs].map(discoverPlugins));
  const services = found.flatMap(({ plugins }) => plugins.map(({ id }) => id));
  const database = await openDatabase(config);
  const admin = createKeyAdmin({ store: createKeyStore(database), services: () => services });
  return { admin, close: () => database.close() };
}
