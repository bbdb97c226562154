import { guard } from './fault-guard.js';

/** A plugin as a worker finds it. */
export interface PluginModule {
  /** The helper's id, by which its faults are told. */
  service: string;
  url: string;
}

/** Milliseconds that a plugin may take to load. A connection that it waits for fits in; one that never comes is named. */
export const importTimeoutMs = 30_000;

/**
 * Imports a plugin's module and gives its default export, undefined where it has none. CommonJS counts too, also as
 * TypeScript compiles it. What the module lets escape while it loads fails the import; later it is told to `onLate`.
 */
export async function importPlugin(
  { service, url }: PluginModule,
  options: { timeoutMs?: number; onLate?: (error: unknown) => void } = {},
): Promise<unknown> {
  const { timeoutMs = importTimeoutMs } = options;
  const module = await guard(
    { ...options, timeoutMs, name: service },
    async () => (await import(url)) as object,
  );
  const exported = 'default' in module ? module.default : undefined;
  const compiled = typeof exported === 'object' && exported !== null && '__esModule' in exported;
  return compiled && 'default' in exported ? exported.default : exported;
}
