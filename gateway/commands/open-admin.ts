import { loadConfig } from '../config.js';
import { openDatabase } from '../database/open-database.js';
import { createKeyAdmin } from '../keys/admin.js';
import { createKeyStore } from '../keys/store.js';
import { migrations } from '../migrations.js';
import { discoverPlugins } from '../plugins/discover.js';
import { builtinPlugins, pipelineId } from '../plugins/paths.js';
import { createSigningSecrets, openSigning } from '../signing/signing-secrets.js';
import { resetOperator } from '../site/accounts/account.js';
import type { SiteTables } from '../site/tables.js';

/** Opens the accounts of the key-management site, for one command. */
export async function openOperators() {
  const database = await openDatabase(loadConfig(process.env), { migrations });
  const site = database.access<SiteTables>();
  return {
    reset: (email: string | undefined, actor: string) => resetOperator(site, email, actor),
    close: () => database.close(),
  };
}

/** Opens the key store for one command; runs no plugin, and makes the master secret for one that `signs` alone. */
export async function openAdmin({ signs = false } = {}) {
  const config = loadConfig(process.env);
  const found = await Promise.all([builtinPlugins, ...config.pluginDirs].map(discoverPlugins));
  const services = [...found.flatMap(({ plugins }) => plugins.map(({ id }) => id)), pipelineId];
  const database = await openDatabase(config, { migrations });
  try {
    const signing = signs ? await openSigning(config) : createSigningSecrets(undefined);
    const store = createKeyStore(database.access());
    const admin = createKeyAdmin({ store, signing, services: () => services });
    return { admin, services, close: () => database.close() };
  } catch (error) {
    await database.close();
    throw error;
  }
}
