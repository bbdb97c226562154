import type { Logger } from 'pino';
import type { PluginModule } from '../../pool/plugin.js';
import type { DeclaredHelper } from '../../schemas/declared-helper.js';
import type { FieldProblem } from '../../schemas/field-problem.js';
import type { CheckOptions, ParameterChecker } from '../../schemas/parameters/parameters.js';
import type { Config } from '../config.js';
import type { HelperContext } from '../helper.js';
import type { PluginProblem } from './discover.js';

/** A plugin's own functions. */
export interface HelperFunctions {
  handler: (input: unknown, context: HelperContext) => unknown;
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
  /** Whether it comes with the package, so that no guard is needed against its code. */
  shipped?: boolean;
  /** URL of the plugin's module, by which a worker imports it. */
  url: string;
  declaration: DeclaredHelper;
  /** Absent where only workers have imported the plugin, which then run all of its calls. */
  functions?: HelperFunctions;
  /** Of the plugin's files, for cached results; absent where none are cached. Set when it is loaded. */
  version?: string;
  /** The texts of its modules, of which each thread makes the same code; absent where they are read from the files. */
  sources?: Uint8Array | undefined;
  /** Compiled once, from the declaration's schema. */
  parameters: ParameterChecker;
  /** Of a pipeline or a recipe, which has no code of its own: the helpers that a call runs, one on the picture of the other. */
  readSteps?: ReadSteps;
}

/** One operation of a call with several. */
export interface Step {
  helper: Helper;
  /** Validated, in normal form, with defaults. */
  input: Record<string, unknown>;
  /** What the caller named one of the helper's parameters: `steps.1.width`, or the recipe's own. */
  fieldOf: (parameter: string) => string;
}

/** What a call consists of; the steps are to be used only where there is no problem. */
export interface CallSteps {
  steps: Step[];
  problems: FieldProblem[];
  /** The picture's format, where the caller or the recipe says one. */
  format?: string | undefined;
}

/** Reads the steps of a validated input. */
export type ReadSteps = (input: Record<string, unknown>, options: Pick<CheckOptions, 'dryrun'>) => CallSteps;

/** Every helper by its id. */
export type Registry = ReadonlyMap<string, Helper>;

/** The plugins that workers import. */
export function poolPlugins(registry: Registry, env: Environment): PluginModule[] {
  const helpers = [...registry.values()].filter(
    ({ declaration, functions, readSteps }) =>
      readSteps === undefined && (declaration.runs === 'pool' || functions === undefined),
  );
  return helpers.map((helper) => moduleOf(helper, env));
}

/** Identifies a problem. */
export function problemKey({ file, reason }: PluginProblem): string {
  return `${file}\n${reason}`;
}

/** The environment, of which plugins get the variables that they declare. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A helper's configuration by its names, without unset ones. */
export type HelperConfig = Readonly<Record<string, string>>;

/** Reads a helper's configuration; an empty variable is an unset one. */
export function configOf({ declaration }: Helper, env: Environment): HelperConfig {
  const entries = declaration.config.flatMap((field): [string, string][] => {
    const value = env[field.env] || field.default;
    return value === undefined ? [] : [[field.name, value]];
  });
  return Object.freeze(Object.fromEntries(entries));
}

/** Values of the configuration that must not be logged or answered. */
export function secretsOf(helper: Helper, env: Environment): string[] {
  const config = configOf(helper, env);
  return helper.declaration.config.flatMap(({ name, secret }) => {
    const value = config[name];
    return secret && value !== undefined ? [value] : [];
  });
}

/** Required variables that are not set, as one problem; without values, because it is logged. */
export function configProblems(helper: Helper, env: Environment): PluginProblem[] {
  const config = configOf(helper, env);
  const missing = helper.declaration.config.filter(({ name, required }) => required && !(name in config));
  const reasons = missing.map(({ name, env: variable, description }) => {
    const hint = description ? `: ${description}` : '';
    return `config.${name} needs the environment variable ${variable}, which is not set${hint}`;
  });
  return reasons.length > 0 ? [{ file: helper.file, reason: reasons.join('\n') }] : [];
}

/** A helper's plugin and configuration, for a worker. */
export function moduleOf(helper: Helper, env: Environment): PluginModule {
  const { id: service, url, shipped, sources, declaration } = helper;
  const [config, secrets] = [configOf(helper, env), secretsOf(helper, env)];
  return { service, url, shipped, sources, config, secrets, setup: declaration.setup };
}

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

/** A limit of a declaration above the operator's, which then holds. */
interface CutLimit {
  /** Its path in the declaration. */
  field: string;
  declared: number;
  most: number;
  variable: string;
}

export type MostAllowed = Pick<Config, 'taskTimeoutMs' | 'maxImageBytes'>;

/** The limits of a declaration that are cut. */
export function cutLimits(
  { timeoutMs, files }: Pick<DeclaredHelper, 'timeoutMs' | 'files'>,
  { taskTimeoutMs, maxImageBytes }: MostAllowed,
): CutLimit[] {
  const asked = [
    { field: 'timeoutMs', declared: timeoutMs, most: taskTimeoutMs, variable: 'HELPER_TASK_TIMEOUT_MS' },
    ...files.map(({ field, maxBytes }) => ({
      field: `files.${field}.maxBytes`,
      declared: maxBytes,
      most: maxImageBytes,
      variable: 'HELPER_MAX_IMAGE_BYTES',
    })),
  ];
  return asked.filter((each): each is CutLimit => each.declared !== undefined && each.declared > each.most);
}

/** Logs which helpers ask for more than they get. */
export function logCutLimits(registry: Registry, most: MostAllowed, logger: Pick<Logger, 'warn'>): void {
  for (const { id: service, declaration } of registry.values()) {
    for (const cut of cutLimits(declaration, most)) {
      logger.warn({ service, ...cut }, `a helper asks for more than ${cut.variable} allows, and gets that`);
    }
  }
}
