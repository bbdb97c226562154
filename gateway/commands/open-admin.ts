import { once } from '../../pool/concurrency.js';
import { importTimeoutMs } from '../../pool/plugin.js';
import { loadConfig } from '../config.js';
import { openDatabase } from '../database/open-database.js';
import { requireValid } from '../errors.js';
import { adminSettings, createKeyAdmin } from '../keys/admin.js';
import { createKeyInputs, type TokenOptions, type Unchecked } from '../keys/inputs.js';
import { noLimits } from '../keys/model.js';
import type { CheckRecipe } from '../keys/recipe-changes.js';
import { createKeyStore } from '../keys/store.js';
import { createWebhookChanges, findTenant } from '../keys/tenant-changes.js';
import { migrations } from '../migrations.js';
import { discoverPlugins } from '../plugins/discover.js';
import { builtinPlugins, pipelineId } from '../plugins/paths.js';
import { createSigningSecrets, openSigning } from '../signing/signing-secrets.js';
import { resetOperator } from '../site/accounts/account.js';
import { createMemberChanges } from '../site/accounts/member-admin.js';
import { createPeople } from '../site/accounts/people.js';
import { createTokens } from '../site/accounts/tokens.js';
import type { SiteTables } from '../site/tables.js';
import { createUsageReports } from '../usage/reports.js';
import { requestLimits } from '../usage/requests.js';

/** Opens the accounts and tokens of the key-management site, for one command. */
export async function openPeople(env = process.env) {
  const config = loadConfig(env);
  const database = await openDatabase(config, { migrations });
  const site = database.access<SiteTables>();
  const store = createKeyStore(database.access());
  const tokens = createTokens(site);
  const inputs = createKeyInputs(() => [], Date.now);
  return {
    people: createPeople(site),
    members: createMemberChanges(site),
    tokens,
    createToken: (given: Unchecked<TokenOptions>, actor: string) =>
      tokens.create(requireValid(inputs.token.check(given)), actor),
    tenantId: async (name: string) => (await findTenant(store, name)).id,
    siteUrl: new URL(config.connectUrl ?? `http://127.0.0.1:${config.connectPort}`).origin,
    reset: (email: string | undefined, actor: string) => resetOperator(site, email, actor),
    /** Makes the master secret where it is needed and missing. */
    async noticesSecret(actor: string) {
      const { webhooks } = await openSigning(config);
      return createWebhookChanges({ store, now: Date.now, defaults: noLimits }, webhooks).noticesSecret(
        actor,
      );
    },
    close: () => database.close(),
  };
}

/** Checks recipes by the helpers' schemas; outside plugins are imported in a separate thread, and faulty ones are left out. */
function checkRecipes(folders: string[]): CheckRecipe {
  const load = once(async () => {
    const [{ loadRegistry }, { createRecipeCompiler }, { createVocabulary }] = await Promise.all([
      import('../plugins/load-registry.js'),
      import('../plugins/recipes/recipe.js'),
      import('../../schemas/vocabulary.js'),
    ]);
    const registry = await loadRegistry(folders, createVocabulary(), {
      lookMs: importTimeoutMs,
      onProblem: () => undefined,
    });
    return createRecipeCompiler(registry, createVocabulary);
  });
  return async (id, definition) => (await load())(id, definition);
}

/** Opens the key store for one command; imports plugins for a recipe alone, and makes the master secret for one that `signs`. */
export async function openAdmin({ signs = false } = {}) {
  const config = loadConfig(process.env);
  const folders = [builtinPlugins, ...config.pluginDirs];
  const found = await Promise.all(folders.map(discoverPlugins));
  const services = [...found.flatMap(({ plugins }) => plugins.map(({ id }) => id)), pipelineId];
  const database = await openDatabase(config, { migrations });
  try {
    const signing = signs ? await openSigning(config) : createSigningSecrets(undefined);
    const store = createKeyStore(database.access());
    const compileRecipe = checkRecipes(folders);
    const admin = createKeyAdmin({
      ...{ store, signing, compileRecipe, services: () => services },
      ...adminSettings(config),
    });
    const requests = requestLimits(config);
    const reports = createUsageReports({ access: database.access(), store, requests });
    return { admin, reports, services, close: () => database.close() };
  } catch (error) {
    await database.close();
    throw error;
  }
}
