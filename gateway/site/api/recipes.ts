import type { Fields } from '../../../schemas/fields.js';
import { definitionSchema } from '../../plugins/recipes/recipe.js';
import { type ApiRoute, defineRoute } from './route.js';
import { all, listOf, ref, shape, stringSchema, timeSchema } from './shapes.js';

/** A recipe's definition: what is wrong with it, the compiler of recipes says. */
const recipeFields: Fields<object> = {
  schema: definitionSchema,
  coerce: (texts) => Object.fromEntries(texts),
  check: (value) => ({ value, problems: [] }),
};

/** Tenants' recipes. */
export function recipeRoutes(): ApiRoute[] {
  return [
    defineRoute('PUT /api/tenants/:name/recipes/:recipe', 'putRecipe', {
      summary: "Adds a tenant's recipe, or replaces the one of this name.",
      forMembers: true,
      creates: true,
      body: recipeFields,
      data: shape({ recipe: ref('Recipe') }),
      async run({ site, params: { name = '', recipe = '' }, body, actor, answer }) {
        const saved = await site.admin.putRecipe(name, recipe, body, actor);
        if (saved.isNew) answer.status = 201;
        return { recipe: saved.recipe };
      },
    }),
    defineRoute('GET /api/tenants/:name/recipes', 'listRecipes', {
      summary: "Lists a tenant's recipes by name, all at once.",
      forMembers: true,
      data: shape({ recipes: listOf(ref('Recipe')) }),
      run: ({ site, params }) => site.admin.listRecipes(params.name ?? ''),
    }),
    defineRoute('GET /api/tenants/:name/recipes/:recipe', 'getRecipe', {
      summary: "Shows a tenant's recipe.",
      forMembers: true,
      data: shape({ recipe: ref('Recipe') }),
      run: async ({ site, params: { name = '', recipe = '' } }) => ({
        recipe: await site.admin.recipe(name, recipe),
      }),
    }),
    defineRoute('DELETE /api/tenants/:name/recipes/:recipe', 'deleteRecipe', {
      summary: "Deletes a tenant's recipe, and shows what it was.",
      forMembers: true,
      data: shape({ recipe: ref('Recipe') }),
      run: async ({ site, params: { name = '', recipe = '' }, actor }) => ({
        recipe: await site.admin.deleteRecipe(name, recipe, actor),
      }),
    }),
  ];
}

export const recipeShapes = {
  Recipe: {
    ...shape({ name: stringSchema, ...all(timeSchema, 'created_at', 'updated_at') }),
    // The definition as it was given.
    additionalProperties: true,
  },
};
