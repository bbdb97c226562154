import type { Ajv } from 'ajv';
import type { FieldProblem } from '../../../schemas/field-problem.js';
import type { Helper, Registry } from '../registry.js';

/** What a recipe's definition is. */
export interface CompiledRecipe {
  /** What serves it; absent where there are problems, or a step's helper has gone. */
  helper?: Helper;
  problems: FieldProblem[];
  /** The id of a step's helper that is not there. */
  gone?: string;
}

export type RecipeCompiler = (id: string, definition: unknown) => CompiledRecipe;

/** Makes recipes helpers, with the steps that `registry` has. */
export declare function createRecipeCompiler(registry: Registry, ajv: Ajv): RecipeCompiler;
