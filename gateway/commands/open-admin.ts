import { loadConfig } from '../config.js';
import { openDatabase } from '../database/open-database.js';
import { createKeyAdmin } from '../keys/admin.js';
import { createKeyStore } from '../keys/store.js';
import { migrations } from '../migrations.js';
import { discoverPlugins } from '../plugins/discover.js';
import { builtinPlugins } from '../plugins/paths.js';
import { createSigningSecrets, openSigning } from '../signing/signing-secrets.js';
import { resetOperator } from '../site/accounts/first-operator.js';
import { createSiteDatabase } from '../site/tables.js';
import type { OpenedKeys, OpenOptions } from './open.js';
import type { OpenedOperators } from './tenants.js';

/** Opens the accounts of the key-management site, for one command. */
export async function openOperators(): Promise<OpenedOperators> {
  const database = await openDatabase(loadConfig(process.env), { migrations });
  const site = createSiteDatabase(database);
  return { reset: (email, actor) => resetOperator(site, email, actor), close: () => database.close() };
}

/**
 * Opens the key store that the gateway uses, for one command. The helpers' ids come from their paths: no plugin is run. The master
 * secret is read, and made where it is missing, for a command that `signs` alone.
 */
export async function openAdmin({ signs = false }: OpenOptions = {}): Promise<OpenedKeys> {
  const config = loadConfig(process.env);
  const found = await Promise.all([builtinPlugins, ...config.pluginDirs].map(discoverPlugins));
  const services = found.flatMap(({ plugins }) => plugins.map(({ id }) => id));
  const database = await openDatabase(config, { migrations });
  try {
    const signing = signs ? await openSigning(config) : createSigningSecrets(undefined);
    const store = createKeyStore(database.access());
    return {
      admin: createKeyAdmin({ store, signing, services: () => services }),
      services,
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
