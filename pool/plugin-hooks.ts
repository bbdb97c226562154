import nodeModule from 'node:module';
import { isTypeScript, loadTypeScript } from './load-typescript.js';
import { explainMissing } from './missing-module.js';

interface Hooks {
  resolve: (
    specifier: string,
    context: { parentURL?: string | undefined },
    next: (specifier: string, context: unknown) => unknown,
  ) => unknown;
  load: (url: string, context: unknown, next: (url: string, context: unknown) => unknown) => unknown;
}

let hooked = false;

/**
 * Gives plugins in this thread what Node alone would not: `helper-gateway/helper`, which lies at `helperUrl`, and its neighbour
 * `helper-gateway/testing` by name, wherever their folder lies and without node_modules; and modules in TypeScript as they are.
 * Done once a thread and only where outside folders are configured: the hooks cost a start some milliseconds. Node 22.15 and
 * later have synchronous hooks; before that they run in a thread of their own, of which Node keeps a port on the main thread for good
 * when this one is ended (`threadsPorts` of its worker internals): some 2 kB for each thread that was.
 */
export function hookPlugins(helperUrl: string): void {
  if (hooked) return;
  hooked = true;
  const modules: Record<string, string> = {
    'helper-gateway/helper': helperUrl,
    'helper-gateway/testing': new URL('testing.js', helperUrl).href,
  };
  const { registerHooks } = nodeModule as unknown as { registerHooks?: (hooks: Hooks) => void };
  if (!registerHooks) {
    nodeModule.register('./plugin-hooks-thread.js', import.meta.url, { data: modules });
    return;
  }
  registerHooks({
    resolve(specifier, context, next) {
      const url = modules[specifier];
      if (url !== undefined) return { url, shortCircuit: true };
      try {
        return next(specifier, context);
      } catch (error) {
        throw explainMissing(error, specifier, context.parentURL);
      }
    },
    load: (url, context, next) => (isTypeScript(url) ? loadTypeScript(url) : next(url, context)),
  });
}
