import { GatewayError } from '../errors.js';
import { recipeOf } from '../keys/model.js';
import type { CompiledRecipe } from '../plugins/recipes/recipe.js';
import type { Helper, Registry } from '../plugins/registry.js';

/** The recipes that tenants have made. */
export interface TenantRecipes {
  findRecipe(tenantId: string, name: string): Promise<CompiledRecipe | undefined>;
  listRecipes(tenantId: string): Promise<readonly CompiledRecipe[]>;
}

export type TenantHelpers = ReturnType<typeof createTenantHelpers>;

/** What the tenants can call: the helpers that are served to all, and each its own recipes. */
export function createTenantHelpers(registry: Registry, recipes?: TenantRecipes) {
  return {
    registry,
    /** One of them by its id. Throws `conflict` where the helper of a recipe's step has gone. */
    async find(tenantId: string, id: string): Promise<Helper | undefined> {
      const helper = registry.get(id);
      const name = recipeOf(id);
      if (helper || !recipes || name === undefined) return helper;
      const recipe = await recipes.findRecipe(tenantId, name);
      if (recipe?.gone === undefined) return recipe?.helper;
      const message = `The recipe ${id} uses the helper ${recipe.gone}, which this gateway does not have any more.`;
      throw new GatewayError('conflict', { message });
    },
    /** A tenant's recipes that can be called. */
    async own(tenantId: string): Promise<Registry> {
      const all = (await recipes?.listRecipes(tenantId)) ?? [];
      return new Map(all.flatMap(({ helper }) => (helper ? [[helper.id, helper]] : [])));
    },
  };
}
