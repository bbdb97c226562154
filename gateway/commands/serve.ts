import type { Command } from 'commander';
import { pino } from 'pino';
import { loadConfig } from '../config.js';
import { type Gateway, startGateway } from '../gateway.js';
import { closeOnSignal } from './signals.js';

/** `serve`: runs the gateway until it is told to stop. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('run the gateway (what "npm start" does)')
    .option('--json', 'print what was started as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const config = loadConfig(process.env);
      const logger = pino({ level: config.logLevel });
      const gateway = await startGateway(config, logger);
      console.log(json ? JSON.stringify(describe(gateway)) : greeting(gateway));
      closeOnSignal(gateway, logger);
    });
}

function describe({ url, engine, firstKey, registry }: Gateway): object {
  return { ok: true, data: { url, ...engine, helpers: [...registry.keys()], first_key: firstKey ?? null } };
}

/** What a person reads in the terminal: what runs where, and on the first start what to do next. */
function greeting({ url, engine, firstKey, registry }: Gateway): string {
  const width = Math.max(...[...registry.keys()].map((id) => id.length));
  const helpers = [...registry.values()].map(
    ({ id, declaration }) => `  ${url}/${id.padEnd(width)}  ${declaration.summary}`,
  );
  const lines = [`helper-gateway serves ${registry.size} helpers (images: ${engine.engine})`, '', ...helpers];
  if (firstKey) {
    const call = `${url}/text/remove-stopwords?text=This+is+the+first+call&ak=${firstKey.key}`;
    lines.push(
      '',
      `First start: created the tenant "${firstKey.tenant}" with one API key. It is shown this once:`,
      '',
      `  ${firstKey.key}`,
      '',
      'Try it:',
      '',
      `  curl '${call}'`,
    );
  }
  return `${lines.join('\n')}\n`;
}
