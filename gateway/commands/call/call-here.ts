import { once } from 'node:events';
import { type Logger, pino } from 'pino';
import { loadConfig } from '../../config.js';
import { openLocalHelpers } from '../../local/open-local.js';
import { endSoon } from '../end-soon.js';
import { reserveStdout } from '../reserve-stdout.js';
import { runCall } from './call.js';
import { createInput } from './read-file.js';

/** Calls under way beyond those that threads work on: their files are read meanwhile. */
const ahead = 2;

/** Calls a helper in this process, by the words of a command line, and prints what came of it. */
export async function callHere(words: string[]): Promise<void> {
  // Plugins print what they like, on any thread; standard output holds the result alone.
  const stdout = Object.assign(reserveStdout(), { isTTY: process.stdout.isTTY });
  const given = loadConfig(process.env);
  // No more threads than there can be files.
  const config = { ...given, poolThreads: Math.min(given.poolThreads, Math.max(1, words.length - 1)) };
  const logger = await logOnStderr(config.logLevel);
  const local = await openLocalHelpers(config, logger);
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
  return pino({ level }, pino.destination({ dest: 2, sync: true }));
}
