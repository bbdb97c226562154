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
      // First, for whoever reads the next line may send a signal at once.
      closeOnSignal(gateway, logger);
      console.log(json ? JSON.stringify(describe(gateway)) : greeting(gateway));
    });
}

function describe({ url, connectUrl, engine, firstKey, firstOperator, registry }: Gateway): object {
  const data = {
    url,
    connect_url: connectUrl,
    ...engine,
    helpers: [...registry.keys()],
    first_key: firstKey ?? null,
    first_operator: firstOperator ?? null,
  };
  return { ok: true, data };
}

/** What a person reads in the terminal: what runs where, and on the first start what to do next. */
function greeting(gateway: Gateway): string {
  const { url, connectUrl, engine, registry } = gateway;
  const width = Math.max(...[...registry.keys()].map((id) => id.length));
  const helpers = [...registry.values()].map(
    ({ id, declaration }) => `  ${url}/${id.padEnd(width)}  ${declaration.summary}`,
  );
  const lines = [
    `helper-gateway serves ${registry.size} helpers (images: ${engine.engine})`,
    '',
    ...helpers,
    '',
    `  ${connectUrl}  The key-management site.`,
    ...firstStart(gateway),
  ];
  return `${lines.join('\n')}\n`;
}

/** What is shown once and kept nowhere. */
function firstStart({ url, connectUrl, firstKey, firstOperator }: Gateway): string[] {
  const lines: string[] = [];
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
  if (firstOperator) {
    lines.push(
      '',
      `Operator's sign-in at ${connectUrl}, shown this once too:`,
      '',
      `  e-mail    ${firstOperator.email}`,
      `  password  ${firstOperator.password}`,
    );
  }
  return lines;
}
