import type { PluginProblem } from './discover.js';

/** Plugins that cannot be served; the start stops. `message` lists every file with its reason. */
export class PluginError extends Error {
  readonly problems: PluginProblem[];

  constructor(problems: PluginProblem[]) {
    const lines = problems.map(({ file, reason }) => `  ${file}\n    ${reason.replaceAll('\n', '\n    ')}`);
    super(
      `${problems.length === 1 ? 'a plugin' : `${problems.length} plugins`} cannot be served:\n${lines.join('\n')}`,
    );
    this.name = 'PluginError';
    this.problems = problems;
  }
}
