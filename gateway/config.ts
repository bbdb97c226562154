import { type Config, together, type Variable, variables } from '../schemas/config/config.js';
import { didYouMean } from '../schemas/nearest.js';
import { join, quote } from '../schemas/quote.js';

export type { Config } from '../schemas/config/config.js';

/** The environment does not make a configuration. `message` has a line for every variable, and never a value. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(['The configuration is not valid:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Reads and checks the environment once; an empty variable is unset. Throws a `ConfigError` with all problems. */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const { config, problems } = readConfig(env);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** The same for a report of all that is wrong: the `bad` settings have their defaults in `config`. */
export function readConfig(env: NodeJS.ProcessEnv) {
  const { settings, bad } = readSettings(env);
  const problems = [...bad.map(wanted), ...incompleteGroups(env), ...unknownVariables(env)];
  const unset = Object.fromEntries(bad.map(({ name }) => [name, undefined]));
  const read = bad.length === 0 ? settings : readSettings({ ...env, ...unset }).settings;
  return { config: Object.freeze(read as Config), problems, bad: bad.map(({ setting }) => setting) };
}

function readSettings(env: NodeJS.ProcessEnv): {
  settings: Record<string, unknown>;
  bad: (typeof variables)[number][];
} {
  const settings: Record<string, unknown> = {};
  const bad: (typeof variables)[number][] = [];
  for (const variable of variables) {
    const { setting, form, default: preset } = variable;
    const text = textOf(env, variable) || preset;
    if (text === undefined) continue;
    const value = typeof text === 'string' ? form.read(text) : text.value(env);
    if (value === undefined) bad.push(variable);
    else settings[setting] = Array.isArray(value) ? Object.freeze(value) : value;
  }
  return { settings, bad };
}

function textOf(env: NodeJS.ProcessEnv, { name }: Variable): string {
  return env[name]?.trim() ?? '';
}

function wanted({ name, form }: Variable): string {
  // Never the value: it may be a password, and this line goes to a log.
  return `${name} must be ${form.wanted}`;
}

function incompleteGroups(env: NodeJS.ProcessEnv): string[] {
  return together
    .filter((group) => {
      const set = group.filter((variable) => textOf(env, variable) !== '');
      return set.length > 0 && set.length < group.length;
    })
    .map((group) => group.map(({ name }) => name))
    .map((names) => `${join('and', names)} go together; set all or none`);
}

function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const names = variables.map(({ name }) => name);
  return Object.keys(env)
    .filter((name) => name.startsWith('HELPER_') && !names.includes(name))
    .sort()
    .map((name) => `${quote(name)} is not a variable of this gateway${didYouMean(name, names)}`);
}
