import { visible } from '../../../schemas/quote.js';
import { loadConfig } from '../../config.js';
import type { PluginProblem } from '../../helpers/discover.js';
import { PluginError } from '../../helpers/plugin-error.js';
import type { Helper } from '../../helpers/registry.js';
import { answer, type Terminal } from '../output.js';
import { asInvalidInput, checkFolder } from './check.js';
import { describe, report } from './describe.js';

/** Does what `plugins check` does. */
export async function runCheck(folder: string, terminal: Terminal, json: boolean): Promise<void> {
  const skipped: PluginProblem[] = [];
  const helpers = await loadable(folder, terminal, json, (each) => void skipped.push(each));
  if (!helpers) return;
  await answer(terminal, json, async () => {
    // Of the rest of a configuration nothing is asked here.
    const { HELPER_TASK_TIMEOUT_MS, HELPER_MAX_IMAGE_BYTES } = process.env;
    const most = loadConfig({ HELPER_TASK_TIMEOUT_MS, HELPER_MAX_IMAGE_BYTES });
    return {
      data: {
        plugins: helpers.map((helper) => describe(helper, process.env, most)),
        ...(skipped.length > 0 ? { skipped } : {}),
      },
      result: [
        report(helpers, process.env, most),
        ...skipped.map(({ file, reason }) => `${file} ${reason}`),
      ].join('\n'),
    };
  });
}

/** The helpers of a folder; undefined where the start would stop, which has been told then. */
export async function loadable(
  folder: string,
  terminal: Terminal,
  json: boolean,
  onSkipped?: (skipped: PluginProblem) => void,
): Promise<Helper[] | undefined> {
  const checked = await checkFolder(folder, { onSkipped });
  if (!(checked instanceof PluginError)) return checked;
  if (json) {
    await answer(terminal, json, async () => {
      throw asInvalidInput(checked);
    });
    return undefined;
  }
  // In its own lines, a file each.
  terminal.stderr.write(`${visible(checked.message)}\n`);
  terminal.setExitCode(1);
  return undefined;
}
