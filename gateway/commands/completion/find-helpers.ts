import { hookPlugins } from '../../../pool/plugin-hooks.js';
import { checkDeclaration } from '../../../schemas/declaration.js';
import { type DeclaredHelper, describeDeclaration } from '../../../schemas/declared-helper.js';
import { compileParameters } from '../../../schemas/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';
import { discoverPlugins, type FoundPlugin } from '../../helpers/discover.js';
import { importDeclaration } from '../../helpers/import-plugin.js';
import { builtinPlugins, helperUrl } from '../../helpers/package-paths.js';
import type { HelperFinder } from './complete-call.js';

/** Milliseconds that a plugin may take to load while a person waits. */
const timeoutMs = 2_000;

/** Looks helpers up in these folders. One that cannot be loaded is passed over: to say so is not for completion. */
export function findHelpers(outside: readonly string[]): HelperFinder {
  const folders = [builtinPlugins, ...outside];
  const url = helperUrl(folders);
  if (url) hookPlugins(url);

  async function discover(): Promise<FoundPlugin[]> {
    const all = await Promise.all(folders.map((folder) => discoverPlugins(folder)));
    return all.flatMap(({ plugins }) => plugins);
  }

  async function declarationOf(found: FoundPlugin): Promise<DeclaredHelper | undefined> {
    try {
      const { declaration } = await importDeclaration(found, { timeoutMs, onLate: () => undefined });
      return checkDeclaration(declaration).length > 0 ? undefined : describeDeclaration(declaration);
    } catch {
      return undefined;
    }
  }

  return {
    async list(typed) {
      const found = (await discover()).filter(({ id }) => id.startsWith(typed));
      return Promise.all(
        found.map(async (each) => ({ value: each.id, description: (await declarationOf(each))?.summary })),
      );
    },
    async find(id) {
      const found = (await discover()).find((each) => each.id === id);
      const declaration = found && (await declarationOf(found));
      return declaration && { declaration, parameters: compileParameters(createVocabulary(), declaration) };
    },
  };
}
