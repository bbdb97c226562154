import { loadConfig } from '../config.js';
import { discoverPlugins } from '../discover.js';
import { createKeyAdmin, type KeyAdmin } from '../keys/admin.js';
import { openKeyStore } from '../keys/open-store.js';
import { builtinPlugins } from '../registry.js';

/** Opens the key store that the gateway uses, for one command. The helpers' ids come from their paths: no plugin is run. */
export async function openAdmin(): Promise<{ admin: KeyAdmin; close: () => Promise<void> }> {
  const config = loadConfig(process.env);
  const found = await Promise.all([builtinPlugins, ...config.pluginDirs].map(discoverPlugins));
  const services = found.flatMap(({ plugins }) => plugins.map(({ id }) => id));
  const store = await openKeyStore(config);
  return { admin: createKeyAdmin({ store, services: () => services }), close: () => store.close() };
}
