import nodeModule from 'node:module';

/** The module that plugins import by name, wherever their folder lies. */
const helperSpecifier = 'helper-gateway/helper';

interface ResolveHooks {
  resolve: (
    specifier: string,
    context: unknown,
    next: (specifier: string, context: unknown) => unknown,
  ) => unknown;
}

let registered = false;

/**
 * Makes `helper-gateway/helper` resolve to `url` in this thread, so that a plugin in a folder without node_modules
 * can import it. Registered once a thread and only where outside folders are configured: the hooks cost a start
 * some milliseconds. Node 22.15 and later have synchronous hooks; before that they run in a thread of their own.
 */
export function resolveHelperModule(url: string): void {
  if (registered) return;
  registered = true;
  const { registerHooks } = nodeModule as unknown as { registerHooks?: (hooks: ResolveHooks) => void };
  if (registerHooks) {
    registerHooks({
      resolve: (specifier, context, next) =>
        specifier === helperSpecifier ? { url, shortCircuit: true } : next(specifier, context),
    });
  } else {
    nodeModule.register('./resolve-helper-hooks.js', import.meta.url, { data: { url } });
  }
}
