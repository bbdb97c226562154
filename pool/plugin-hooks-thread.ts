/** Hooks for Node before 22.15; Node loads this file into its hooks thread. See `plugin-hooks.ts`. */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { explainMissing, loadFrom, type Sources } from './plugin-hooks.js';

const modules = new Map<string, string>();
let sources: Sources = {};
let port: MessagePort | undefined;

/** Called by Node once, with what `register` was given. */
export function initialize(data: { modules: Record<string, string>; port: MessagePort }): void {
  for (const [specifier, url] of Object.entries(data.modules)) modules.set(specifier, url);
  port = data.port;
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
export async function load<Context extends { format?: string }, Loaded extends { format: string }>(
  url: string,
  context: Context,
  next: (url: string, context: Context) => Promise<Loaded>,
): Promise<unknown> {
  const received = port && receiveMessageOnPort(port);
  if (received) sources = received.message as Sources;
  const loaded = loadFrom(sources, url, context);
  if (loaded && !('replace' in loaded)) return loaded;
  const found = await next(url, context);
  return loaded ? loaded.replace(found) : found;
}
