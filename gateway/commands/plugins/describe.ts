import type { DeclaredHelper } from '../../../schemas/declared-helper.js';
import { cutLimits, type MostAllowed } from '../../helpers/cut-limits.js';
import type { Helper } from '../../helpers/registry.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What a helper is and needs, for programs. Of its configuration the variables' names, never a value. */
export function describe({ id, file, declaration }: Helper, env: Environment, most: MostAllowed): object {
  const { summary, runs, timeoutMs, files, config, setup, output, examples, effects, repeatable } =
    declaration;
  return {
    id,
    file,
    summary,
    runs,
    ...(timeoutMs === undefined ? {} : { timeout_ms: Math.min(timeoutMs, most.taskTimeoutMs) }),
    ...(effects ? { effects, idempotent: repeatable } : {}),
    files: files.map((each) =>
      each.maxBytes === undefined ? each : { ...each, maxBytes: Math.min(each.maxBytes, most.maxImageBytes) },
    ),
    cut: cutLimits(declaration, most),
    config: config.map(({ name, env: variable, required }) => ({
      name,
      env: variable,
      required,
      set: Boolean(env[variable]),
    })),
    setup,
    output: output !== undefined,
    examples: examples.length,
  };
}

/** The same for people: a line for each helper, and below it what it needs. */
export function report(helpers: readonly Helper[], env: Environment, most: MostAllowed): string {
  if (helpers.length === 0)
    return 'No plugins here: a plugin is <route>.mjs, .js, .ts or <route>/index.mjs below this folder.';
  const width = Math.max(...helpers.map(({ id }) => id.length));
  const lines = helpers.flatMap(({ id, declaration }) => [
    `  /${id.padEnd(width)}  ${declaration.runs.padEnd('inline'.length)}  ${declaration.summary}`,
    ...needsOf(declaration, env, most).map((need) => `${' '.repeat(width + 5)}${need}`),
  ]);
  const count = helpers.length === 1 ? '1 plugin is' : `${helpers.length} plugins are`;
  return [`${count} fine:`, ...lines].join('\n');
}

function needsOf(declaration: DeclaredHelper, env: Environment, most: MostAllowed): string[] {
  const { files, config, timeoutMs, setup, effects, repeatable } = declaration;
  const cuts = cutLimits(declaration, most).map(
    ({ field, declared, most: allowed, variable }) =>
      `${field} ${declared} is cut to ${allowed} by ${variable}`,
  );
  const taken = files.map(({ field, parameter, kind, required, insteadOf }) => {
    const names = field === parameter ? field : `${field} or ${parameter}`;
    const place = insteadOf === undefined ? '' : `, in place of ${insteadOf}`;
    return `${names} (${kind}${required ? ', required' : ''}${place})`;
  });
  const variables = config.map(({ env: variable, required, default: preset }) => {
    if (env[variable]) return `${variable} (set)`;
    if (preset !== undefined) return `${variable} (not set: ${JSON.stringify(preset)})`;
    return `${variable} (${required ? 'required, not set' : 'not set'})`;
  });
  const again = repeatable ? 'may be run again' : 'an item of a job runs at most once';
  return [
    ...(effects ? [`effects: POST only, ${again}`] : []),
    ...(taken.length > 0 ? [`files: ${taken.join(', ')}`] : []),
    ...(variables.length > 0 ? [`config: ${variables.join(', ')}`] : []),
    ...(setup ? ['setup: once in each thread'] : []),
    ...(timeoutMs === undefined ? [] : [`time: ${Math.min(timeoutMs, most.taskTimeoutMs)} ms`]),
    ...cuts,
  ];
}
