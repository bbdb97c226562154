import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { visible } from '../../schemas/quote.js';
import { makeFolder, writeProblem } from '../file-system.js';
import type { Gateway } from '../gateway.js';
import type { PluginProblem } from '../plugins/discover.js';
import { usualFolder } from '../plugins/paths.js';
import type { ReloadReport } from '../plugins/reload.js';
import { closeOnSignal, gatewayGreeting, reloadOnHangup } from './serve.js';

/** Milliseconds between two looks at the files. */
const pollMs = 300;

/** `dev [DIR…]`: runs the gateway for somebody who writes helpers, and loads each anew when it is saved. */
export function registerDev(program: Command): void {
  program
    .command('dev [dir...]')
    .description(`Run the gateway, and reload helpers as they are saved (in ./${usualFolder} by default).`)
    .option('--poll [ms]', 'look at the files again and again, where a mount tells of no change', readPoll)
    .action(async (dirs: string[], { poll }: { poll?: number | true }) => {
      // Only here: help is shown before these are loaded.
      const { openLog } = await import('../observability/log.js');
      const { watchFolders } = await import('../plugins/watch-folders.js');
      const config = await devConfig(process.env, dirs);
      const logger = await openLog(config.logLevel, process.stdout);
      const folders = [...config.pluginDirs];
      for (const folder of folders) {
        // Where there was none, it is made: whoever runs this is about to write the first helper.
        if (await makeServed(folder)) console.log(visible(`created ${folder}`));
      }
      const { startGateway } = await import('../gateway.js');
      let gateway: Gateway | undefined;
      const early = new Set<string>();
      // First, so that no change is missed.
      const watcher = await watchFolders(folders, {
        pollMs: poll === true ? pollMs : poll,
        onChange(files) {
          if (gateway) void gateway.reload(files);
          else for (const file of files) early.add(file);
        },
        onError: (error) => logger.error({ err: error }, 'changes may be missed; --poll looks for them'),
      });
      const starting = startGateway(config, logger, {
        dev: {
          onReload(report) {
            const line = reloadLine(report);
            if (gateway && line !== undefined) console.log(line);
            for (const each of problemLines(report.problems, report.skipped)) console.error(each);
          },
        },
      });
      reloadOnHangup(starting, logger);
      const started = await starting.catch(async (error) => {
        await watcher.close();
        throw error;
      });
      const close = async () => {
        await watcher.close();
        await started.close();
      };
      closeOnSignal({ drain: started.drain, close }, logger);
      console.log(visible(`${gatewayGreeting(started, config)}\nWatching ${folders.join(', ')}`));
      gateway = started;
      if (early.size > 0) await gateway.reload(early);
    });
}

function makeServed(folder: string): Promise<boolean> {
  return makeFolder(folder).catch((error) => {
    const reason = writeProblem(error, folder, folder);
    throw new Error(`the folder of helpers cannot be made: ${reason}`, { cause: error });
  });
}

/** The environment's configuration with these folders besides. */
async function devConfig(env: NodeJS.ProcessEnv, dirs: readonly string[]) {
  const { loadConfig } = await import('../config.js');
  const threads = env.HELPER_POOL_THREADS?.trim() || '2';
  const config = loadConfig({ ...env, HELPER_POOL_THREADS: threads });
  const named = [...config.pluginDirs, ...dirs];
  const folders = named.length > 0 ? named : [usualFolder];
  return { ...config, pluginDirs: [...new Set(folders.map((folder) => resolve(folder)))] };
}

function readPoll(text: string): number {
  const ms = Number(text);
  if (Number.isInteger(ms) && ms >= 20 && ms <= 60_000) return ms;
  throw new InvalidArgumentError('It takes whole milliseconds from 20 to 60000.');
}

/** A reload in a line: `reloaded text/shout in 41 ms`. Undefined where nothing that is served has changed. */
export function reloadLine({ added, reloaded, removed, ms }: ReloadReport): string | undefined {
  const parts = [
    ...changeOf('added', added),
    ...changeOf('reloaded', reloaded),
    ...changeOf('removed', removed),
  ];
  return parts.length > 0 ? visible(`${parts.join(', ')} in ${Math.round(ms)} ms`) : undefined;
}

/** What cannot be served and what is left out, for the author. */
export function problemLines(
  problems: readonly PluginProblem[],
  skipped: readonly PluginProblem[] = [],
): string[] {
  const lines = [
    ...problems.map(({ file, reason }) => `cannot load ${file}\n    ${reason.replaceAll('\n', '\n    ')}`),
    ...skipped.map(({ file, reason }) => `${file} ${reason}`),
  ];
  return lines.map(visible);
}

/** Of many helpers only the first are named. */
function changeOf(what: string, ids: readonly string[]): string[] {
  if (ids.length === 0) return [];
  const named = ids.length > 5 ? `${ids.slice(0, 4).join(', ')} and ${ids.length - 4} more` : ids.join(', ');
  return [`${what} ${named}`];
}
