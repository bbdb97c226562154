import { realpath } from 'node:fs/promises';
import { importTimeoutMs } from '../../../pool/plugin.js';
import type { DeclaredHelper } from '../../../schemas/declared-helper.js';
import { visible } from '../../../schemas/quote.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { loadConfig } from '../../config.js';
import { GatewayError } from '../../errors.js';
import type { PluginProblem } from '../../plugins/discover.js';
import { type LoadRegistryOptions, loadRegistry } from '../../plugins/load-registry.js';
import { builtinPlugins, pipelineId } from '../../plugins/paths.js';
import {
  cutLimits,
  type Helper,
  type MostAllowed,
  PluginError,
  type Registry,
} from '../../plugins/registry.js';
import { answer, type Terminal } from '../output.js';

/** Prints what the plugins of a folder are and need, or what is wrong with them. */
export async function runCheck(folder: string, terminal: Terminal, json: boolean): Promise<void> {
  const skipped: PluginProblem[] = [];
  const helpers = await loadCheckedHelpers(folder, terminal, json, (each) => void skipped.push(each));
  if (!helpers) return;
  await answer(terminal, json, async () => {
    // No other variable matters here, and a faulty one must not stop the check.
    const { HELPER_TASK_TIMEOUT_MS, HELPER_MAX_IMAGE_BYTES } = process.env;
    const most = loadConfig({ HELPER_TASK_TIMEOUT_MS, HELPER_MAX_IMAGE_BYTES });
    const plugins = helpers.map((helper) => describeHelper(helper, most));
    const lines = skipped.map(({ file, reason }) => `${file} ${reason}`);
    return {
      data: skipped.length > 0 ? { plugins, skipped } : { plugins },
      result: [...reportHelpers(helpers, most), ...lines].join('\n'),
    };
  });
}

/** The helpers of a folder; undefined where the start would stop: the reasons are printed then. */
export async function loadCheckedHelpers(
  folder: string,
  terminal: Terminal,
  json: boolean,
  onSkipped?: (skipped: PluginProblem) => void,
): Promise<Helper[] | undefined> {
  const checked = await checkFolder(folder, { onSkipped });
  if (!(checked instanceof PluginError)) return checked;
  if (json) await answer(terminal, json, () => Promise.reject(asInvalidInput(checked)));
  // A line for each file, unlike other errors.
  else terminal.stderr.write(`${visible(checked.message)}\n`);
  terminal.setExitCode(1);
  return undefined;
}

/** Loads the plugins of a folder as the start does, beside the package's own, but without setup and configuration. */
export async function checkFolder(
  folder: string,
  { lookMs = importTimeoutMs, onSkipped }: Pick<LoadRegistryOptions, 'lookMs' | 'onSkipped'> = {},
): Promise<Helper[] | PluginError> {
  const ajv = createVocabulary();
  try {
    if (await isSame(folder, builtinPlugins))
      return [...(await loadRegistry([builtinPlugins], ajv)).values()].filter(({ id }) => id !== pipelineId);
    const all = await loadRegistry([builtinPlugins, folder], ajv, { lookMs, onSkipped });
    return [...all.values()].filter(({ shipped }) => !shipped);
  } catch (error) {
    if (error instanceof PluginError) return error;
    throw error;
  }
}

/** Whether both are one folder. One that does not exist is not the same as another; its fault is reported when it is loaded. */
export async function isSame(folder: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([folder, other].map((path) => realpath(path).catch(() => path)));
  return one === two;
}

/** Loads the plugins of folders to describe them. Throws `invalid_input` with all faults. */
export async function loadHelpers(folders: string[]): Promise<Registry> {
  try {
    return await loadRegistry(folders, createVocabulary());
  } catch (error) {
    throw error instanceof PluginError ? asInvalidInput(error) : error;
  }
}

function asInvalidInput({ problems }: PluginError): GatewayError {
  const details = problems.map(({ file, reason }) => ({ field: file, problem: reason }));
  const message = 'Not every plugin can be served; see details.';
  return new GatewayError('invalid_input', { message, details });
}

/** What a helper is and needs, for programs: the names of its variables, never a value. */
function describeHelper({ id, file, declaration }: Helper, most: MostAllowed): object {
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
      set: Boolean(process.env[variable]),
    })),
    setup,
    output: output !== undefined,
    examples: examples.length,
  };
}

/** The same for people: a line for each helper, and below it what it needs. */
function reportHelpers(helpers: readonly Helper[], most: MostAllowed): string[] {
  if (helpers.length === 0)
    return [
      'No plugins here: a plugin is <route>.mjs, .js, .ts, .recipe.json or <route>/index.mjs below this folder.',
    ];
  const width = Math.max(...helpers.map(({ id }) => id.length));
  const lines = helpers.flatMap(({ id, declaration }) => [
    `  /${id.padEnd(width)}  ${declaration.runs.padEnd('inline'.length)}  ${declaration.summary}`,
    ...needsOf(declaration, most).map((need) => `${' '.repeat(width + 5)}${need}`),
  ]);
  const count = helpers.length === 1 ? '1 plugin is' : `${helpers.length} plugins are`;
  return [`${count} fine:`, ...lines];
}

function needsOf(declaration: DeclaredHelper, most: MostAllowed): string[] {
  const { files, config, timeoutMs, setup, effects, repeatable } = declaration;
  const cuts = cutLimits(declaration, most).map(
    ({ field, declared, most: allowed, variable }) =>
      `${field} ${declared} is cut to ${allowed} by ${variable}`,
  );
  const accepted = files.map(({ field, parameter, kind, required, insteadOf }) => {
    const names = field === parameter ? field : `${field} or ${parameter}`;
    const place = insteadOf === undefined ? '' : `, in place of ${insteadOf}`;
    return `${names} (${kind}${required ? ', required' : ''}${place})`;
  });
  const variables = config.map(({ env: variable, required, default: preset }) => {
    if (process.env[variable]) return `${variable} (set)`;
    if (preset !== undefined) return `${variable} (not set: ${JSON.stringify(preset)})`;
    return `${variable} (${required ? 'required, not set' : 'not set'})`;
  });
  const again = repeatable ? 'may be run again' : 'an item of a job runs at most once';
  return [
    ...(effects ? [`effects: POST only, ${again}`] : []),
    ...(accepted.length > 0 ? [`files: ${accepted.join(', ')}`] : []),
    ...(variables.length > 0 ? [`config: ${variables.join(', ')}`] : []),
    ...(setup ? ['setup: once in each thread'] : []),
    ...(timeoutMs === undefined ? [] : [`time: ${Math.min(timeoutMs, most.taskTimeoutMs)} ms`]),
    ...cuts,
  ];
}
