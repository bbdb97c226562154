import { loadConfig } from '../config.js';
import { openDatabase } from '../database/database.js';
import { discoverPlugins } from '../discover.js';
import { createKeyAdmin, type KeyAdmin } from '../keys/admin.js';
import { createKeyStore } from '../keys/sql-store.js';
import { builtinPlugins } from '../registry.js';

/** Opens the key store that the gateway uses, for one command. The helpers' ids come from their paths: no plugin is run. */
export async function openAdmin(): Promise<{ admin: KeyAdmin; close: () => Promise<void> }> {
  const config = loadConfig(process.env);
  const found = await Promise.all([builtinPlugins, ...config.pluginDirs].map(discoverPlugins));
  const services = found.flatMap(({ plugins }) => plugins.map(({ id }) => id));
  const database = await openDatabase(config);
  const admin = createKeyAdmin({ store: createKeyStore(database), services: () => services });
  return { admin, close: () => database.close() };
}
