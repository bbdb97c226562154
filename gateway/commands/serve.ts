import type { EventEmitter } from 'node:events';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { visible, visibleJson } from '../../schemas/quote.js';
import type { Config } from '../config.js';
import type { Gateway } from '../gateway.js';
import type { PluginProblem } from '../plugins/discover.js';
import { problemKey } from '../plugins/registry.js';
import type { Member } from '../supervisor/member.js';
import type { Worker } from '../worker.js';
import { commandName, reserveStdout } from './process.js';

/** `serve`: runs the gateway until a signal ends it. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('Run the gateway (also what no command at all does).')
    .option('--json', 'print what was started, and the log, as JSON')
    .action(({ json = false }: { json?: boolean }) =>
      runUntilSignal(json, {
        start: async (config, logger, member) =>
          (await import('../gateway.js')).startGateway(config, logger, { member }),
        describe: describeGateway,
        greeting: gatewayGreeting,
      }),
    );
}

/** `work`: works on the gateways' jobs until a signal ends it. */
export function registerWork(program: Command): void {
  program
    .command('work')
    .description(
      'Work on jobs with the whole pool; needs the same DATABASE_URL and REDIS_URL (or data folder) as the gateways.',
    )
    .option('--json', 'print what was started, and the log, as JSON')
    .action(({ json = false }: { json?: boolean }) =>
      runUntilSignal(json, {
        start: async (config, logger, member) =>
          (await import('../worker.js')).startWorker(config, logger, { member }),
        describe: describeWorker,
        greeting: workerGreeting,
      }),
    );
}

/** Milliseconds for closing besides running calls, such as for a webhook or the last lines of usage. */
const closingMs = 15_000;

/** What a command runs until a signal ends it. */
interface LongRun<Running> {
  /** The environment's by default. */
  config?(member: Member | undefined): Promise<Config>;
  /** What cannot be served of the plugins' files. */
  problems?: readonly PluginProblem[];
  start(config: Config, logger: Logger, member: Member | undefined): Promise<Running>;
  /** What is printed at the start, as JSON and for people. */
  describe(running: Running, config: Config): object;
  greeting(running: Running, config: Config): string;
}

/** Starts it by the environment, prints what was started, and ends it in order when a signal says so. */
export async function runUntilSignal<Running extends Pick<Gateway, 'drain' | 'leave' | 'close' | 'registry'>>(
  json: boolean,
  run: LongRun<Running>,
): Promise<void> {
  // Imported here, so that help and other commands need not wait for them.
  const { loadConfig } = await import('../config.js');
  const { openJsonLog, openLog } = await import('../observability/log.js');
  const { sealObjectPrototype } = await import('../../pool/thread-settings.js');
  const { joinProcesses } = await import('../supervisor/member.js');
  const member = joinProcesses();
  sealObjectPrototype();
  const config = run.config ? await run.config(member) : loadConfig(process.env);
  const { logLevel, processes } = config;
  const logger = json ? openJsonLog(logLevel) : await openLog(logLevel, process.stdout);
  // With --json, programs read stdout; plugins may print on any thread.
  const stdout = json ? reserveStdout() : process.stdout;
  const running = await run.start(config, logger, member);
  // Before the greeting, because its reader may send a signal at once.
  closeOnSignal(running, logger, member?.signals);
  const said = json
    ? visibleJson(JSON.stringify({ ok: true, data: run.describe(running, config) }))
    : run.greeting(running, config);
  const text = `${said}\n`;
  const { drainMs, taskTimeoutMs, sourceTimeoutMs } = config;
  const limits = {
    stopMs: drainMs + taskTimeoutMs + sourceTimeoutMs + closingMs,
    silentMs: taskTimeoutMs + 20_000,
    silentAtEndMs: Math.min(10_000, taskTimeoutMs + 2_000),
  };
  if (!member) {
    stdout.write(text);
    return;
  }
  const outside = [...running.registry.values()].filter(({ shipped }) => !shipped);
  const helpers = Object.fromEntries(outside.map(({ id, file }) => [id, file]));
  const problems = run.problems?.map(problemKey) ?? [];
  member.ready({ text, processes, logLevel, json, helpers, problems, ...limits });
}

/** npm forwards a Ctrl-C that the terminal has sent to the gateway too; both count as one. */
const echoMs = 500;

/**
 * Closes the gateway in order at SIGTERM and SIGINT; a second signal ends the process at once. At SIGTERM, which process managers
 * send, it drains first, because balancers may still send calls. At SIGINT a person waits. Below a supervisor, `signals` are those
 * that it passes on.
 */
function closeOnSignal(
  gateway: Pick<Gateway, 'drain' | 'leave' | 'close'>,
  logger: Logger,
  signals: EventEmitter = process,
): void {
  let closingSince: number | undefined;
  const stop = async (signal: NodeJS.Signals | 'leave') => {
    if (closingSince !== undefined) {
      if (performance.now() - closingSince > echoMs) process.exit(1);
      return;
    }
    closingSince = performance.now();
    if (signal === 'leave') logger.info('another process has taken over');
    else logger.info({ signal }, 'shutting down');
    try {
      if (signal === 'leave') await gateway.leave();
      if (signal === 'SIGTERM') await gateway.drain();
      await gateway.close();
      process.exitCode = 0;
    } catch (error) {
      logger.error({ err: error }, 'shutdown was not clean');
      process.exitCode = 1;
    }
    process.exit();
  };
  signals.on('SIGTERM', stop);
  signals.on('SIGINT', stop);
  signals.on('leave', stop);
}

/** What was started, for programs. */
function describeGateway(gateway: Gateway): object {
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

/** For people: what runs where, and what to do next. */
export function gatewayGreeting(gateway: Gateway, config: Pick<Config, 'databaseUrl' | 'dataDir'>): string {
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
    `Keys, accounts and usage are kept in ${databasePlace(config)}.`,
    ...firstStart(gateway),
    ...laterStart(gateway),
  ];
  return visible(`${lines.join('\n')}\n`);
}

/** Shown because other commands must use the same place. */
function databasePlace({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): string {
  // Not its address, which holds a password.
  return databaseUrl === undefined ? resolve(dataDir) : 'PostgreSQL (DATABASE_URL)';
}

/** Secrets that are shown once and not stored. */
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

/** How to replace secrets that the first start showed. */
function laterStart({ firstKey, firstOperator, demoTenant }: Gateway): string[] {
  const lines: string[] = [];
  if (!firstKey) lines.push(`A new key:            ${commandName()} keys issue ${demoTenant ?? 'TENANT'}`);
  if (!firstOperator) lines.push(`A new site password:  ${commandName()} operator reset`);
  return lines;
}

type Places = Pick<Config, 'databaseUrl' | 'redisUrl' | 'dataDir' | 'resultsUrl' | 'poolThreads'>;

/** What was started, for programs. */
function describeWorker({ url, engine, registry }: Worker, config: Places): object {
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
function workerGreeting({ url, engine, registry }: Worker, config: Places): string {
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
