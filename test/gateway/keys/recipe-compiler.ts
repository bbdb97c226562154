import type { RecipeCompiler } from '../../../gateway/plugins/recipes/recipe.js';
import type { Helper } from '../../../gateway/plugins/registry.js';

/** A picture helper that recipes of tests name, and that is not there. */
export const goneHelper = 'shop/gone';

/** Accepts whatever has steps; the helper is one in name alone. */
export const compileRecipe: RecipeCompiler = (id, definition) => {
  const { steps } = definition as { steps?: { use?: string }[] };
  if (!Array.isArray(steps)) return { problems: [{ field: 'steps', problem: 'must be given' }] };
  const at = steps.findIndex(({ use }) => use === goneHelper);
  if (at >= 0) return { problems: [{ field: `steps.${at}.use`, problem: 'is no helper' }], gone: goneHelper };
  return { problems: [], helper: { id } as Helper };
};
