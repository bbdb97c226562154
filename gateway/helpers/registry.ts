import type { Group } from '../../pool/group.js';
import type { PluginModule } from '../../pool/plugin-module.js';
import type { DeclaredHelper } from '../../schemas/declared-helper.js';
import type { ParameterChecker } from '../../schemas/parameters.js';
import type { HelperContext } from '../helper.js';
import { type Environment, type HelperConfig, moduleOf } from './helper-config.js';

/** A plugin's own functions. */
export interface HelperFunctions {
  handler: (input: unknown, context: HelperContext) => unknown;
  /** What a dry run answers. */
  dryrun?: (input: unknown, context: HelperContext) => unknown;
  /** Whether a call of a pool helper is short. */
  inline?: (input: unknown) => unknown;
  /** Makes what its calls share on this thread. */
  setup?: (given: { config: HelperConfig; signal: AbortSignal }) => unknown;
}

/** A helper that is ready to be served. */
export interface Helper {
  /** Service id and route, e.g. `text/diff-two-strings`. */
  id: string;
  file: string;
  /** Whether it comes with the package: its code is known, and need not be guarded against. */
  shipped?: boolean;
  /** URL of the plugin's module, by which a worker imports it. */
  url: string;
  declaration: DeclaredHelper;
  /** Absent where only workers have imported the plugin: all of its calls, and its dry runs, are theirs then. */
  functions?: HelperFunctions;
  /** Of the plugin's files, by which its results are known; absent where none are kept. Set when it is loaded. */
  version?: string;
  /** The threads that have loaded this version of the plugin; the pool's first ones where absent. Set when they are known. */
  group?: Group;
  /** Compiled once, from the declaration's schema. */
  parameters: ParameterChecker;
}

/** Every helper by its id. */
export type Registry = ReadonlyMap<string, Helper>;

/** What the workers have to import: the plugins whose handlers run there. */
export function poolPlugins(registry: Registry, env: Environment): PluginModule[] {
  const helpers = [...registry.values()].filter(
    ({ declaration, functions }) => declaration.runs === 'pool' || functions === undefined,
  );
  return helpers.map((helper) => moduleOf(helper, env));
}
