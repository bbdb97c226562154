import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { runLocally } from '../../../gateway/commands/call/call-here.js';
import { createInput } from '../../../gateway/commands/call/jobs.js';
import type { LocalHelpers } from '../../../gateway/local-helpers.js';
import { asText, failed, fileOf, type Surface } from './asked.js';

/** The command line, writing what comes of a call into this folder. */
export function commandSurface(local: LocalHelpers, folder: string): Surface {
  let calls = 0;
  return {
    takes: 'upload',
    async call({ helper, given, files = {} }) {
      calls += 1;
      const options = [...given, ...Object.entries(files)].map(
        ([name, value]) => `--${name}=${asText(value)}`,
      );
      let stdout = '';
      await runLocally([helper, ...options, '--json', '--out', join(folder, String(calls))], {
        local,
        most: 1,
        input: createInput(Readable.from([]), 1_000_000),
        screen: { stdout: { write: (text) => (stdout += text) }, stderr: process.stderr },
        logger: pino({ level: 'silent' }),
        signal: new AbortController().signal,
      });
      const { ok, data, error } = JSON.parse(stdout);
      if (!ok) return failed(error);
      const bytes = readFileSync(data.out);
      return data.type === 'application/json' ? { data: JSON.parse(bytes.toString()) } : fileOf(bytes);
    },
  };
}
