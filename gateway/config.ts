import { availableParallelism } from 'node:os';
import { Ajv } from 'ajv';
import { type Variable, variables } from '../schemas/config/variables.js';
import { type Config, configSchema } from '../schemas/config.js';
import { didYouMean } from '../schemas/nearest.js';
import { quote } from '../schemas/quote.js';

export { type Variable, variables } from '../schemas/config/variables.js';
export type { Config } from '../schemas/config.js';

const mostThreads = 256;

/** The environment does not make a configuration. `message` has a line for every variable, and never a value. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(['The configuration is not valid:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/**
 * Reads and checks the environment, at the start and once; an empty variable is an unset one. Throws a `ConfigError`
 * that names every bad variable and every `HELPER_…` that does not exist.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const settings: Partial<Record<keyof Config, unknown>> = {};
  const bad = new Set<Variable>();
  for (const variable of variables) {
    const text = env[variable.name]?.trim() || variable.default;
    if (text === undefined) continue;
    const value = variable.read(text);
    if (value === undefined) bad.add(variable);
    else settings[variable.setting] = freeze(value);
  }
  settings.poolThreads ??= Math.min(mostThreads, availableParallelism());

  for (const setting of invalidSettings(settings)) {
    const variable = variables.find((each) => each.setting === setting);
    if (variable) bad.add(variable);
  }
  const problems = [...variables.filter((each) => bad.has(each)).map(wanted), ...unknownVariables(env)];
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(settings) as Config;
}

function invalidSettings(settings: object): string[] {
  const validate = new Ajv({ strict: true, allErrors: true }).compile(configSchema);
  if (validate(settings)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, params }) => instancePath.split('/')[1] ?? String(params.missingProperty),
  );
}

function wanted({ name, form }: Variable): string {
  // Never the value: it may be a password, and this line goes to a log.
  return `${name} must be ${form}`;
}

function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const names = variables.map(({ name }) => name);
  return Object.keys(env)
    .filter((name) => name.startsWith('HELPER_') && !names.includes(name))
    .sort()
    .map((name) => `${quote(name)} is not a variable of this gateway${didYouMean(name, names)}`);
}

function freeze(value: unknown): unknown {
  return Array.isArray(value) ? Object.freeze(value) : value;
}
