import type { PluginModule } from '../../pool/plugin-module.js';
import type { ConfigField, DeclaredHelper } from '../../schemas/declared-helper.js';
import type { PluginProblem } from './discover.js';

/** The environment of which plugins are told what they declare, and nothing else. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What is known of a helper whose configuration is asked for. */
interface Configured {
  id: string;
  file: string;
  url: string;
  shipped?: boolean;
  declaration: Pick<DeclaredHelper, 'config' | 'setup'>;
}

/** A helper's configuration by its names; without what is set nowhere. */
export type HelperConfig = Readonly<Record<string, string>>;

/** Reads a helper's configuration; an empty variable is an unset one. */
export function configOf({ declaration }: Pick<Configured, 'declaration'>, env: Environment): HelperConfig {
  const entries = declaration.config.flatMap((field): [string, string][] => {
    const value = env[field.env] || field.default;
    return value === undefined ? [] : [[field.name, value]];
  });
  return Object.freeze(Object.fromEntries(entries));
}

/** Values of the configuration that are never told. */
export function secretsOf(helper: Pick<Configured, 'declaration'>, env: Environment): string[] {
  const config = configOf(helper, env);
  return helper.declaration.config.flatMap(({ name, secret }) => {
    const value = config[name];
    return secret && value !== undefined ? [value] : [];
  });
}

/** What the environment lacks that a helper cannot do without; of each plugin all in one. */
export function configProblems(
  helper: Pick<Configured, 'file' | 'declaration'>,
  env: Environment,
): PluginProblem[] {
  const config = configOf(helper, env);
  const missing = helper.declaration.config.filter(({ name, required }) => required && !(name in config));
  if (missing.length === 0) return [];
  return [{ file: helper.file, reason: missing.map(wanted).join('\n') }];
}

/** Never a value: the line goes to a log. */
function wanted({ name, env, description }: ConfigField): string {
  return `config.${name} needs the environment variable ${env}, which is not set${description ? `: ${description}` : ''}`;
}

/** A helper's plugin as a worker gets it, with its configuration. */
export function moduleOf(helper: Configured, env: Environment): PluginModule {
  const { id: service, url, shipped, declaration } = helper;
  return {
    service,
    url,
    shipped,
    ...(declaration.config.length > 0
      ? { config: configOf(helper, env), secrets: secretsOf(helper, env) }
      : {}),
    ...(declaration.setup ? { setup: true } : {}),
  };
}
