/** Hooks for Node before 22.15; Node loads this file into its hooks thread. See `plugin-hooks.ts`. */
import { explainMissing, isTypeScript, loadTypeScript } from './plugin-hooks.js';

const modules = new Map<string, string>();

/** Called by Node once, with what `register` was given. */
export function initialize(urls: Record<string, string>): void {
  for (const [specifier, url] of Object.entries(urls)) modules.set(specifier, url);
}

/** Called by Node for every import. */
export async function resolve<Context extends { parentURL?: string | undefined }>(
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => Promise<unknown>,
): Promise<unknown> {
  const url = modules.get(specifier);
  if (url !== undefined) return { url, shortCircuit: true };
  try {
    return await next(specifier, context);
  } catch (error) {
    throw explainMissing(error, specifier, context.parentURL);
  }
}

/** Called by Node for every module that is loaded. */
export function load<Context>(
  url: string,
  context: Context,
  next: (url: string, context: Context) => unknown,
): unknown {
  return isTypeScript(url) ? loadTypeScript(url) : next(url, context);
}
