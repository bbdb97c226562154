import { pathToFileURL } from 'node:url';

/** A plugin's module that could not be imported. `message` says why, for the operator. */
export class PluginImportError extends Error {}

/**
 * Imports a plugin's module and gives its default export. CommonJS counts too, also as TypeScript compiles it.
 * A module that ends the process while it loads, or never finishes loading, would end the start without a word:
 * then the file is named on stderr.
 */
export async function importPlugin(file: string): Promise<{ url: string; declaration: unknown }> {
  const url = pathToFileURL(file).href;
  const name = () => console.error(`helper-gateway: the process ended while loading the plugin ${file}`);
  process.once('exit', name);
  try {
    const module = (await import(url)) as { default?: unknown };
    if (module.default === undefined) {
      throw new PluginImportError('has no default export: write "export default { … }"');
    }
    return { url, declaration: unwrap(module.default) };
  } catch (error) {
    if (error instanceof PluginImportError) throw error;
    throw new PluginImportError(`cannot be loaded: ${describe(error)}`, { cause: error });
  } finally {
    process.off('exit', name);
  }
}

function unwrap(exported: unknown): unknown {
  const isObject = typeof exported === 'object' && exported !== null;
  return isObject && '__esModule' in exported && 'default' in exported ? exported.default : exported;
}

/** The message, with the place in the file where the stack knows it (a syntax error's first line does). */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`;
  const place = error.stack?.split('\n').find((line) => /file:\/\/.*:\d+(:\d+)?\)?$/.test(line.trim()));
  return `${error.name}: ${error.message}${place ? ` (${place.trim().replace(/^at /, '')})` : ''}`;
}
