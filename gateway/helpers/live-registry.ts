import type { PluginProblem } from './discover.js';
import type { Helper, Registry } from './registry.js';

/** Every helper as it is now: what is made of them once is made anew when `watch` tells of a change. */
export interface LiveRegistry extends Registry {
  /** Files that cannot be served as they are now: the last good version is, where there was one. */
  problems(): readonly PluginProblem[];
  /** Tells of other helpers and other problems. */
  watch(listener: () => void): void;
}

/** Holds the helpers that are served; others may take their place while calls are under way. */
export class HelperShelf extends Map<string, Helper> implements LiveRegistry {
  readonly #listeners: (() => void)[] = [];
  #problems: readonly PluginProblem[] = [];

  problems(): readonly PluginProblem[] {
    return this.#problems;
  }

  watch(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Puts these helpers in the place of all that are here, in one step. */
  replaceAll(helpers: Registry, problems: readonly PluginProblem[] = []): void {
    this.#problems = problems;
    this.clear();
    for (const [id, helper] of helpers) this.set(id, helper);
    for (const listener of this.#listeners) listener();
  }
}
