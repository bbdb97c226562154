import type { PluginModule } from '../../pool/plugin-module.js';
import type { ParameterChecker } from '../../schemas/parameters.js';
import type { HelperDeclaration } from '../helper.js';

/** A helper that is ready to be served. */
export interface Helper {
  /** Service id and route, e.g. `text/diff-two-strings`. */
  id: string;
  file: string;
  /** Whether it comes with the package: its code is known, and need not be guarded against. */
  shipped?: boolean;
  /** URL of the plugin's module, by which a worker imports it. */
  url: string;
  /** Says in `runs` where, whether or not the plugin does. */
  declaration: HelperDeclaration;
  /** Compiled once, from the declaration's schema. */
  parameters: ParameterChecker;
}

/** Every helper by its id. */
export type Registry = ReadonlyMap<string, Helper>;

/** What the workers have to import: the plugins whose handlers run there. */
export function poolPlugins(registry: Registry): PluginModule[] {
  const helpers = [...registry.values()].filter(({ declaration }) => declaration.runs === 'pool');
  return helpers.map(({ id, url, shipped }) => ({ service: id, url, shipped }));
}
