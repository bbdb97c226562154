import { join, resolve } from 'node:path';
import type { Config } from '../config.js';
import type { Worker } from '../worker.js';

type Places = Pick<Config, 'databaseUrl' | 'redisUrl' | 'dataDir' | 'resultsUrl' | 'poolThreads'>;

/** What was started, for programs. */
export function describeWork({ url, engine, registry }: Worker, config: Places): object {
  const { poolThreads: threads, resultsUrl } = config;
  return {
    url: url ?? null,
    ...engine,
    helpers: [...registry.keys()],
    threads,
    queue: queueOf(config),
    results: resultsUrl === undefined ? 'folder' : 's3',
  };
}

/** What a person reads in the terminal: what it works on, and where it finds that. */
export function workGreeting({ url, engine, registry }: Worker, config: Places): string {
  const threads = config.poolThreads === 1 ? '1 thread' : `${config.poolThreads} threads`;
  const lines = [
    `helper-gateway works on jobs of ${registry.size} helpers, with ${threads} (images: ${engine.engine})`,
    '',
    ...[...registry.keys()].map((id) => `  ${id}`),
    '',
    `The queue is in ${placeOfQueue(config)}; files and results are in ${placeOfResults(config)}.`,
    ...(url === undefined ? [] : [`Its health is told at ${url}/readyz.`]),
  ];
  return `${lines.join('\n')}\n`;
}

function queueOf({ redisUrl, databaseUrl }: Places): 'redis' | 'postgres' | 'sqlite' {
  if (redisUrl !== undefined) return 'redis';
  return databaseUrl === undefined ? 'sqlite' : 'postgres';
}

/** Not by their addresses, which hold passwords. */
function placeOfQueue(config: Places): string {
  const places = {
    redis: 'Redis (REDIS_URL)',
    postgres: 'PostgreSQL (DATABASE_URL)',
    sqlite: resolve(config.dataDir),
  };
  return places[queueOf(config)];
}

function placeOfResults({ resultsUrl, dataDir }: Places): string {
  return resultsUrl ?? resolve(join(dataDir, 'results'));
}
