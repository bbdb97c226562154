import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { StoreError } from '../database/store-error.js';
import { GatewayError } from '../errors.js';
import { freshMs, outageMs, readInTime } from '../keys/key-cache.js';
import { recipeId } from '../keys/model.js';
import type { KeyStore } from '../keys/store.js';
import type { KeyVerifier } from '../keys/verifier.js';
import type { CompiledRecipe, RecipeCompiler } from '../plugins/recipes/recipe.js';
import type { TenantRecipes } from './tenant-helpers.js';

interface TenantRecipesOptions {
  store: Pick<KeyStore, 'recipes'>;
  compile: RecipeCompiler;
  /** Follows the changes that this process and others make. */
  changes: KeyVerifier['changes'];
  /** A clock that never jumps, ms. */
  monotonic?: () => number;
}

/** All recipes of one tenant: a call of one that is not there costs no read, however many names are tried. */
interface CachedRecipes {
  /** By name, as JSON text. */
  definitions: ReadonlyMap<string, string>;
  /** Monotonic time at which the read began. */
  readAt: number;
}

/** Of definitions in memory. */
const maxCharacters = 2 ** 25;
/** Of a tenant without any recipe, in the same unit. */
const baseSize = 512;
/** Compiled ones in memory: each has a validator of its own. */
const maxCompiled = 1_000;

/** The recipes of tenants, ready to be called; cached and refreshed like their keys. */
export function createTenantRecipes(options: TenantRecipesOptions): TenantRecipes & { close(): void } {
  const { store, compile, changes, monotonic = () => performance.now() } = options;
  const known = new LRUCache<string, CachedRecipes>({
    maxSize: maxCharacters,
    sizeCalculation: ({ definitions }) =>
      [...definitions.values()].reduce((sum, { length }) => sum + length, baseSize),
  });
  const compiled = new LRUCache<string, { definition: string; recipe: CompiledRecipe }>({ max: maxCompiled });
  /** The reads whose results are true still: a change since then removes them. */
  const reads = new Map<string, Promise<CachedRecipes>>();

  const close = changes.follow((tenants) => {
    if (tenants === undefined) {
      reads.clear();
      known.clear();
    }
    for (const tenant of tenants ?? []) {
      reads.delete(tenant);
      // At once, so that those in use are known in an outage.
      if (known.delete(tenant)) load(tenant).catch(reportFailure);
    }
  });

  async function load(tenant: string): Promise<CachedRecipes> {
    const running = reads.get(tenant);
    if (running) return running;
    const read = readAll(tenant);
    reads.set(tenant, read);
    const isCurrent = () => reads.get(tenant) === read;
    try {
      const found = await read;
      if (isCurrent()) known.set(tenant, found);
      return found;
    } finally {
      if (isCurrent()) reads.delete(tenant);
    }
  }

  async function readAll(tenant: string): Promise<CachedRecipes> {
    const readAt = monotonic();
    const recipes = await store.recipes(tenant);
    return { definitions: new Map(recipes.map(({ name, definition }) => [name, definition])), readAt };
  }

  function isTrusted(cached: CachedRecipes | undefined, span: number): cached is CachedRecipes {
    return cached !== undefined && monotonic() - Math.max(cached.readAt, changes.confirmedAt()) <= span;
  }

  async function recipesOf(tenant: string): Promise<CachedRecipes> {
    const cached = known.get(tenant);
    if (isTrusted(cached, freshMs)) return cached;
    let cause: unknown;
    if (!changes.isDown()) {
      try {
        return await (cached ? readInTime(load(tenant)) : load(tenant));
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        reportFailure(error);
        cause = error.cause;
      }
    }
    // Not the one from before the read: a change may have removed it since.
    const last = known.get(tenant);
    if (isTrusted(last, outageMs)) return last;
    const message = 'Recipes cannot be read at the moment.';
    throw new GatewayError('keys_unavailable', { message, cause });
  }

  function reportFailure(error: unknown): void {
    if (error instanceof StoreError) changes.reportFailure(error);
  }

  function compiledOf(tenant: string, name: string, definition: string): CompiledRecipe {
    const key = `${tenant} ${name}`;
    const cached = compiled.get(key);
    if (cached?.definition === definition) return cached.recipe;
    const recipe = compile(recipeId(name), JSON.parse(definition));
    compiled.set(key, { definition, recipe });
    return recipe;
  }

  return {
    /** A tenant's recipe; undefined where the tenant has none of this name, whoever else has. */
    async findRecipe(tenant: string, name: string): Promise<CompiledRecipe | undefined> {
      const definition = (await recipesOf(tenant)).definitions.get(name);
      return definition === undefined ? undefined : compiledOf(tenant, name, definition);
    },
    /** All of a tenant's recipes by name, those too that cannot be called any more. */
    async listRecipes(tenant: string): Promise<CompiledRecipe[]> {
      const list: CompiledRecipe[] = [];
      for (const [name, definition] of (await recipesOf(tenant)).definitions) {
        list.push(compiledOf(tenant, name, definition));
        // A hundred that are compiled one after another would hold up every other call.
        await setImmediate();
      }
      return list;
    },
    close,
  };
}
