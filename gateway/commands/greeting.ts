import { resolve } from 'node:path';
import { visible } from '../../schemas/quote.js';
import type { Config } from '../config.js';
import type { Gateway } from '../gateway.js';
import { calledAs } from './called-as.js';

/** What was started, for programs. */
export function describeStart(gateway: Gateway): object {
  const { url, connectUrl, engine, firstKey, firstOperator, registry } = gateway;
  return {
    url,
    connect_url: connectUrl,
    ...engine,
    helpers: [...registry.keys()],
    first_key: firstKey ?? null,
    first_operator: firstOperator ?? null,
  };
}

/** What a person reads in the terminal: what runs where, and what to do next. */
export function greeting(gateway: Gateway, config: Pick<Config, 'databaseUrl' | 'dataDir'>): string {
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
    '',
    `Keys, accounts and usage are kept in ${placeOf(config)}.`,
    ...firstStart(gateway),
    ...laterStart(gateway),
  ];
  return visible(`${lines.join('\n')}\n`);
}

/** Commands have to find the same place, so people are shown which one it is. */
function placeOf({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): string {
  // Not its address, which holds a password.
  return databaseUrl === undefined ? resolve(dataDir) : 'PostgreSQL (DATABASE_URL)';
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

/** How to go on for those who have not kept what the first start showed. */
function laterStart({ firstKey, firstOperator, demoTenant }: Gateway): string[] {
  const lines: string[] = [];
  if (!firstKey) lines.push(`A new key:            ${calledAs()} keys issue ${demoTenant ?? 'TENANT'}`);
  if (!firstOperator) lines.push(`A new site password:  ${calledAs()} operator reset`);
  return lines;
}
