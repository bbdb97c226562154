import { boundProblems } from '../../schemas/field-problem.js';
import { quote } from '../../schemas/quote.js';
import { GatewayError, inputError } from '../errors.js';
import type { CompiledRecipe } from '../plugins/recipes/recipe.js';
import { type Recipe, type RecipeView, recipeId, viewRecipe } from './model.js';
import { isRecipeName, recipeName } from './schemas.js';
import type { KeyStore, KeyTransaction } from './store.js';
import { findTenant } from './tenant-changes.js';

/** Recipes of one tenant. */
const mostRecipes = 100;
/** Bytes of a definition as JSON without spaces. */
const mostRecipeBytes = 16 * 1024;

/** Reads a definition; a promise where the helpers have to be loaded for it. */
export type CheckRecipe = (id: string, definition: unknown) => CompiledRecipe | Promise<CompiledRecipe>;

export function createRecipeChanges(store: KeyStore, compile: CheckRecipe, now: () => number) {
  /** Throws where no tenant can have this recipe; gives its definition as JSON. */
  async function checkRecipe(name: string, definition: object): Promise<string> {
    if (!isRecipeName(name)) {
      const problem = `must be ${recipeName.form}, but is ${quote(String(name))}`;
      throw inputError([{ field: 'recipe', problem }]);
    }
    const text = JSON.stringify(definition);
    requireSize(text);
    const { problems } = await compile(recipeId(name), definition);
    if (problems.length > 0) throw inputError(boundProblems(problems));
    return text;
  }

  return {
    checkRecipe,
    /** Adds a tenant's recipe or replaces it; `isNew` where there was none of this name. */
    async putRecipe(
      tenant: string,
      name: string,
      definition: object,
      actor: string,
    ): Promise<{ recipe: RecipeView; isNew: boolean }> {
      const text = await checkRecipe(name, definition);
      return store.change(async (tx) => {
        const { id: tenant_id } = await findTenant(tx, tenant);
        const before = await tx.recipe(tenant_id, name);
        if (!before && (await tx.countRecipes(tenant_id)) >= mostRecipes) {
          const message = `${tenant} has ${mostRecipes} recipes, and no tenant may have more; delete one first.`;
          throw new GatewayError('conflict', { message });
        }
        const at = now();
        const created_at = before?.created_at ?? at;
        const recipe = { tenant_id, name, definition: text, created_at, updated_at: at };
        await tx.putRecipe(recipe);
        const detail = { recipe: name, new: !before };
        await tx.audit({ at, actor, action: 'recipe.put', tenant_id, key_id: null, detail });
        return { recipe: viewRecipe(recipe), isNew: !before };
      });
    },
    /** By name; there are never more than fit into one page. */
    async listRecipes(tenant: string): Promise<{ recipes: RecipeView[] }> {
      const { id } = await findTenant(store, tenant);
      return { recipes: (await store.recipes(id)).map(viewRecipe) };
    },
    async recipe(tenant: string, name: string): Promise<RecipeView> {
      return viewRecipe(await findRecipe(store, tenant, name));
    },
    /** Returns what it was. */
    deleteRecipe: (tenant: string, name: string, actor: string): Promise<RecipeView> =>
      store.change(async (tx) => {
        const recipe = await findRecipe(tx, tenant, name);
        await tx.deleteRecipe(recipe);
        const entry = { at: now(), actor, tenant_id: recipe.tenant_id, key_id: null };
        await tx.audit({ ...entry, action: 'recipe.delete', detail: { recipe: name } });
        return viewRecipe(recipe);
      }),
  };
}

function requireSize(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= mostRecipeBytes) return;
  const message = `The definition has ${bytes} bytes; a recipe may have ${mostRecipeBytes} at most.`;
  throw new GatewayError('too_large', { message });
}

async function findRecipe(
  reads: Pick<KeyTransaction, 'tenant' | 'recipe'>,
  tenant: string,
  name: string,
): Promise<Recipe> {
  const { id } = await findTenant(reads, tenant);
  const recipe = isRecipeName(name) ? await reads.recipe(id, name) : undefined;
  if (recipe) return recipe;
  throw new GatewayError('not_found', { message: `${tenant} has no recipe named ${quote(name)}.` });
}
