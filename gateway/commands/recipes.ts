import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { readJsonObject } from '../../schemas/input/parse.js';
import { visibleJson } from '../../schemas/quote.js';
import { reasonOf } from '../database/store-error.js';
import { inputError } from '../errors.js';
import { definitionOf, type RecipeView, recipeId } from '../keys/model.js';
import { recipeName } from '../keys/schemas.js';
import { type OpenKeys, withKeys } from './open.js';
import { formatTable, type JsonOption, jsonOption, type Terminal, usageErrors } from './output.js';
import { commandName } from './process.js';

/** Adds `recipes` and its commands to the program. */
export function registerRecipeCommands(program: Command, open: OpenKeys, terminal: Terminal): void {
  const recipes = program
    .command('recipes')
    .description("Save, list, show and delete tenants' recipes: several steps on one picture, under a name.");
  usageErrors(recipes, terminal);
  const command = (name: string, description: string) =>
    recipes
      .command(name)
      .description(description)
      .argument('<tenant>', 'whose recipe it is')
      .option(...jsonOption);

  command('put', 'Add a recipe, or replace the one of this name; running gateways serve it within 5 seconds.')
    .argument('<name>', recipeName.form)
    .argument('<file>', 'its definition in JSON; - reads it from stdin')
    .action((tenant: string, name: string, file: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const { recipe, isNew } = await admin.putRecipe(tenant, name, await readDefinition(file), actor);
        const result = `${isNew ? 'Added' : 'Replaced'} ${name}. Keys of ${tenant} call it at /${recipeId(name)}.`;
        return { data: { recipe }, result };
      }),
    );

  command('list', 'List the recipes of a tenant.').action((tenant: string, options: JsonOption) =>
    withKeys(open, terminal, options, async (admin) => {
      const data = await admin.listRecipes(tenant);
      if (data.recipes.length > 0) return { data, result: tableOf(data.recipes) };
      const hint = `${tenant} has no recipe yet. Add one: ${commandName()} recipes put ${tenant} NAME FILE`;
      return { data, notes: [hint] };
    }),
  );

  command('show', 'Print the definition of a recipe, as put reads it.')
    .argument('<name>', 'from recipes list')
    .action((tenant: string, name: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin) => {
        const recipe = await admin.recipe(tenant, name);
        return { data: { recipe }, result: visibleJson(JSON.stringify(definitionOf(recipe), null, 2)) };
      }),
    );

  command('delete', 'Delete a recipe; running gateways answer 404 within 5 seconds.')
    .argument('<name>', 'from recipes list')
    .action((tenant: string, name: string, options: JsonOption) =>
      withKeys(open, terminal, options, async (admin, actor) => {
        const recipe = await admin.deleteRecipe(tenant, name, actor);
        return { data: { recipe }, result: `Deleted the recipe ${name} of ${tenant}.` };
      }),
    );
}

/** A recipe's definition from a JSON file; `-` is stdin. */
export async function readDefinition(file: string): Promise<object> {
  const refuse = (problem: string) => inputError([{ field: 'file', problem }]);
  const read = file === '-' ? text(process.stdin) : readFile(file, 'utf8');
  const json = readJsonObject(
    await read.catch((error) => {
      throw refuse(`cannot be read: ${reasonOf(error)}`);
    }),
  );
  if ('value' in json) return json.value;
  throw refuse(json.problems.map(({ problem }) => problem).join('; '));
}

function tableOf(recipes: readonly RecipeView[]): string {
  const rows = recipes.map(({ name, updated_at, steps, summary = '-' }) => [
    name,
    updated_at.slice(0, 10),
    steps.map(({ use }) => use).join(','),
    summary,
  ]);
  return formatTable(['NAME', 'CHANGED', 'STEPS', 'SUMMARY'], rows);
}
