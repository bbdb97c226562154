import type { HelperParts } from './context/handler-context.js';
import { guard } from './fault-guard.js';

/** A plugin as a worker finds it. */
export interface PluginModule {
  /** The helper's id, by which its faults are told. */
  service: string;
  url: string;
  /** Whether it comes with the package: its code is known, and need not be guarded against. */
  shipped?: boolean | undefined;
  /** Values of its configuration by their names. */
  config?: Readonly<Record<string, string>> | undefined;
  /** Those of them that are never told. */
  secrets?: readonly string[] | undefined;
  /** Whether it has a `setup`, to be run before its first call. */
  setup?: boolean | undefined;
}

/** A plugin's default export, as far as a worker goes by it. */
export interface Plugin {
  source?: unknown;
  files?: unknown;
  handler: (input: unknown, context: object) => unknown;
  dryrun?: unknown;
  setup?: unknown;
}

/** A plugin that a thread has imported. */
export interface LoadedPlugin {
  service: string;
  plugin: Plugin;
  shipped: boolean;
  /** What its calls get beside their input. */
  parts: HelperParts;
}

/** Milliseconds that a plugin may take to load. A connection that it waits for fits in; one that never comes is named. */
export const importTimeoutMs = 30_000;

/**
 * Imports a plugin's module and gives its default export, undefined where it has none. CommonJS counts too, also as
 * TypeScript compiles it. What the module lets escape while it loads fails the import; later it is told to `onLate`. For the
 * package's own there is no guard: in Node before 24 one makes every promise of the thread cost more from then on.
 */
export async function importPlugin(
  { service, url, shipped }: PluginModule,
  options: { timeoutMs?: number; onLate?: (error: unknown) => void } = {},
): Promise<unknown> {
  const { timeoutMs = importTimeoutMs } = options;
  const load = async () => (await import(url)) as object;
  const module = await (shipped ? load() : guard({ ...options, timeoutMs, name: service }, load));
  const exported = 'default' in module ? module.default : undefined;
  const compiled = typeof exported === 'object' && exported !== null && '__esModule' in exported;
  return compiled && 'default' in exported ? exported.default : exported;
}
