import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { LoadError } from '../../pool/load-faults.js';
import { visible } from '../../schemas/quote.js';
import { makeFolder, writeProblem } from '../file-system.js';
import type { PluginProblem } from '../plugins/discover.js';
import { usualFolder } from '../plugins/paths.js';
import { PluginError, problemKey } from '../plugins/registry.js';
import type { SupervisorChannel } from '../supervisor/channel.js';
import { gatewayGreeting, runUntilSignal } from './serve.js';

/** Milliseconds between two looks at the files. */
const pollMs = 300;

/** `dev [DIR…]`: runs the gateway for somebody who writes helpers, and replaces it when one is saved. */
export function registerDev(program: Command): void {
  program
    .command('dev [dir...]')
    .description(`Run the gateway, and reload helpers as they are saved (in ./${usualFolder} by default).`)
    .option('--poll [ms]', 'look at the files again and again, where a mount reports no change', readPoll)
    .action((dirs: string[], { poll }: { poll?: number | true }) => {
      const problems: PluginProblem[] = [];
      return runUntilSignal(false, {
        problems,
        async config(supervisor) {
          const config = await devConfig(process.env, dirs);
          for (const folder of config.pluginDirs) {
            // The author is about to write the first helper.
            const isMade = await makeFolder(folder).catch((error) => {
              const reason = writeProblem(error, folder, folder);
              throw new Error(`the folder of helpers cannot be made: ${reason}`, { cause: error });
            });
            if (isMade) console.log(visible(`created ${folder}`));
          }
          // First, so that no change is missed.
          await supervisor?.watch([...config.pluginDirs], poll === true ? pollMs : poll);
          return config;
        },
        async start(config, logger, supervisor) {
          supervisor?.onProblems((others) => problems.splice(0, problems.length, ...others));
          const { startGateway } = await import('../gateway.js');
          const onLoaded = () => checkProblems(problems, supervisor);
          return startGateway(config, logger, { supervisor, dev: { problems, onLoaded } }).catch(
            async (error) => {
              // Such as a setup that fails: it may be mended.
              if (error instanceof LoadError || error instanceof PluginError)
                await supervisor?.reportFailure(problems);
              throw error;
            },
          );
        },
        describe: () => ({}),
        greeting: (gateway, config) =>
          visible(`${gatewayGreeting(gateway, config)}\nWatching ${config.pluginDirs.join(', ')}`),
      });
    });
}

/** Prints what is new of the problems, and ends this process where one of a helper would cost it its place: it is served on as it was. */
async function checkProblems(
  problems: PluginProblem[],
  supervisor: SupervisorChannel | undefined,
): Promise<void> {
  const served = await supervisor?.served();
  const known = new Set(served?.problems);
  const added = problems.filter((problem) => !known.has(problemKey(problem)));
  for (const line of problemLines(added)) console.error(line);
  const files = Object.values(served?.helpers ?? {});
  if (!problems.some(({ file }) => files.includes(file))) return;
  await supervisor?.reportFailure(problems);
  process.exit(1);
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

/** What cannot be served, for the author. */
export function problemLines(problems: readonly PluginProblem[]): string[] {
  return problems.map(({ file, reason }) =>
    visible(`cannot load ${file}\n    ${reason.replaceAll('\n', '\n    ')}`),
  );
}
