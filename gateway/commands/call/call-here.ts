import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Logger, pino } from 'pino';
import { type Config, loadConfig } from '../../config.js';
import { discoverPlugins } from '../../helpers/discover.js';
import { builtinPlugins, usualFolder } from '../../helpers/package-paths.js';
import type { LocalHelpers } from '../../local/local-helpers.js';
import { openLocalHelpers } from '../../local/open-local.js';
import { endSoon } from '../end-soon.js';
import { openStderrLog } from '../open-log.js';
import { problemLines } from '../reload-lines.js';
import { reserveStdout } from '../reserve-stdout.js';
import { runCall } from './call.js';
import { createInput } from './read-file.js';
import { serviceAt } from './words.js';

/** Calls under way beyond those that threads work on: their files are read meanwhile. */
const ahead = 2;

/** Calls a helper in this process, by the words of a command line, and prints what came of it. */
export async function callHere(words: string[]): Promise<void> {
  // Plugins print what they like, on any thread; standard output holds the result alone.
  const stdout = reserveStdout();
  const given = loadConfig(process.env);
  // No more threads than there can be files.
  const config = { ...given, poolThreads: Math.min(given.poolThreads, Math.max(1, words.length - 1)) };
  const logger = await logOnStderr(config.logLevel);
  const local = await openHelpers(config, words, logger);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  try {
    process.exitCode = await runCall(words, {
      local,
      most: config.poolThreads + ahead,
      input: createInput(process.stdin, Math.max(config.maxTextBytes, config.maxImageBytes)),
      screen: { stdout, stderr: process.stderr },
      logger,
      signal: interrupted.signal,
    });
  } finally {
    await local.close();
  }
  await taken(process.stdout);
  endSoon();
}

/**
 * Opens the helpers of the configuration's folders. Where none are named, `./helpers` is looked into, as by `dev`, but only for what does
 * not come with the gateway: in any other project a folder of that name holds no plugins, and its modules need not run. What cannot
 * be loaded is named and left out.
 */
async function openHelpers(config: Config, words: readonly string[], logger: Logger): Promise<LocalHelpers> {
  const folder = resolve(usualFolder);
  const isThere = async () => (await stat(folder).catch(() => undefined))?.isDirectory() ?? false;
  if (config.pluginDirs.length > 0 || !(await isThere())) return openLocalHelpers(config, logger);
  const shipped = new Set((await discoverPlugins(builtinPlugins)).plugins.map(({ id }) => id));
  if (shipped.has(words[serviceAt(words, (word) => shipped.has(word))] ?? ''))
    return openLocalHelpers(config, logger);
  return openLocalHelpers({ ...config, pluginDirs: [folder] }, logger, process.env, {
    onProblem: (problem) => process.stderr.write(`${problemLines([problem])}\n`),
  });
}

/** Resolves when all that was written has been read, or its reader has gone. */
async function taken(stream: NodeJS.WriteStream): Promise<void> {
  while (stream.writableLength > 0 && !stream.destroyed) {
    await once(stream, 'drain').catch(() => undefined);
  }
}

async function logOnStderr(level: string): Promise<Logger> {
  if (process.stderr.isTTY) {
    const { readableLog } = await import('../readable-log.js');
    return pino({ level }, readableLog(process.stderr));
  }
  return openStderrLog(level);
}
