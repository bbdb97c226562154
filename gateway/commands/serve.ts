import type { EventEmitter } from 'node:events';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { visible, visibleJson } from '../../schemas/quote.js';
import type { Config } from '../config.js';
import type { Gateway } from '../gateway.js';
import type { PluginProblem } from '../plugins/discover.js';
import { problemKey } from '../plugins/registry.js';
import type { SupervisorChannel } from '../supervisor/channel.js';
import type { Worker } from '../worker.js';
import type { JsonOption } from './output.js';
import { commandName, reserveStdout } from './process.js';

/** `serve` and `work`: run the gateway, or work on gateways' jobs, until a signal ends it. */
export function registerServe(program: Command): void {
  const json = ['--json', 'print what was started, and the log, as JSON'] as const;
  program
    .command('serve')
    .description('Run the gateway (also what no command at all does).')
    .option(...json)
    .action((flags: JsonOption) =>
      runUntilSignal(flags.json === true, {
        start: async (config, logger, supervisor) =>
          (await import('../gateway.js')).startGateway(config, logger, { supervisor }),
        describe: describeGateway,
        greeting: gatewayGreeting,
      }),
    );
  const needs = 'needs the same DATABASE_URL and REDIS_URL (or data folder) as the gateways';
  program
    .command('work')
    .description(`Work on jobs with the whole pool; ${needs}.`)
    .option(...json)
    .action((flags: JsonOption) =>
      runUntilSignal(flags.json === true, {
        start: async (config, logger, supervisor) =>
          (await import('../worker.js')).startWorker(config, logger, { supervisor }),
        describe: describeWorker,
        greeting: workerGreeting,
      }),
    );
}

/** What a signal ends. */
type Ending = Pick<Gateway, 'drain' | 'leave' | 'close' | 'registry'>;

/** Milliseconds for closing besides running calls, such as for a webhook or the last lines of usage. */
const closingMs = 15_000;

/** What a command runs until a signal ends it. */
interface LongRun<Running> {
  /** The environment's by default. */
  config?(supervisor: SupervisorChannel | undefined): Promise<Config>;
  /** What cannot be served of the plugins' files. */
  problems?: readonly PluginProblem[];
  start(config: Config, logger: Logger, supervisor: SupervisorChannel | undefined): Promise<Running>;
  /** What is printed at the start, as JSON and for people. */
  describe(running: Running, config: Config): object;
  greeting(running: Running, config: Config): string;
}

/** Starts it by the environment, prints what was started, and ends it in order when a signal says so. */
export async function runUntilSignal<Running extends Ending>(
  json: boolean,
  run: LongRun<Running>,
): Promise<void> {
  // Imported here, so that help and other commands need not wait for them.
  const { loadConfig } = await import('../config.js');
  const { openJsonLog, openLog } = await import('../observability/log.js');
  const { sealObjectPrototype } = await import('../../pool/thread-settings.js');
  const { connectSupervisor } = await import('../supervisor/channel.js');
  const supervisor = connectSupervisor();
  sealObjectPrototype();
  const config = run.config ? await run.config(supervisor) : loadConfig(process.env);
  const { logLevel, processes } = config;
  const logger = json ? openJsonLog(logLevel) : await openLog(logLevel, process.stdout);
  // With --json, programs read stdout; plugins may print on any thread.
  const stdout = json ? reserveStdout() : process.stdout;
  const running = await run.start(config, logger, supervisor);
  // Before the greeting, because its reader may send a signal at once.
  closeOnSignal(running, logger, supervisor?.signals);
  const report = json
    ? visibleJson(JSON.stringify({ ok: true, data: run.describe(running, config) }))
    : run.greeting(running, config);
  const text = `${report}\n`;
  if (!supervisor) return void stdout.write(text);
  const { drainMs, taskTimeoutMs, sourceTimeoutMs } = config;
  const limits = {
    stopMs: drainMs + taskTimeoutMs + sourceTimeoutMs + closingMs,
    silentMs: taskTimeoutMs + 20_000,
    silentAtEndMs: Math.min(10_000, taskTimeoutMs + 2_000),
  };
  const outside = [...running.registry.values()].filter(({ shipped }) => !shipped);
  const helpers = Object.fromEntries(outside.map(({ id, file }) => [id, file]));
  const problems = run.problems?.map(problemKey) ?? [];
  supervisor.reportReady({ text, processes, logLevel, json, helpers, problems, ...limits });
}

/** npm forwards a Ctrl-C that the terminal has sent to the gateway too; both count as one. */
const echoMs = 500;

/**
 * Closes the gateway in order at a signal; a second one ends the process at once. At SIGTERM, which process managers send, it drains
 * first, because balancers may still send calls. At SIGINT a person waits. Below a supervisor, `signals` are those that it passes on.
 */
function closeOnSignal(gateway: Ending, logger: Logger, signals: EventEmitter = process): void {
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
  for (const signal of ['SIGTERM', 'SIGINT', 'leave']) signals.on(signal, stop);
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
    ...(gateway.firstKey
      ? []
      : [`A new key:            ${commandName()} keys issue ${gateway.demoTenant ?? 'TENANT'}`]),
    ...(gateway.firstOperator ? [] : [`A new site password:  ${commandName()} operator reset`]),
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
  const key = firstKey && [
    '',
    `First start: created the tenant "${firstKey.tenant}" with one API key. It is shown this once:`,
    '',
    `  ${firstKey.key}`,
    '',
    'Try it:',
    '',
    `  curl '${url}/text/remove-stopwords?text=This+is+the+first+call&ak=${firstKey.key}'`,
  ];
  const signIn = firstOperator && [
    '',
    `Operator's sign-in at ${connectUrl}, shown this once too:`,
    '',
    `  e-mail    ${firstOperator.email}`,
    `  password  ${firstOperator.password}`,
  ];
  return [...(key ?? []), ...(signIn ?? [])];
}

/** What was started, for programs. */
function describeWorker({ url, engine, registry }: Worker, config: Config): object {
  const { poolThreads: threads, resultsUrl, redisUrl, databaseUrl } = config;
  return {
    url: url ?? null,
    ...engine,
    helpers: [...registry.keys()],
    threads,
    queue: redisUrl !== undefined ? 'redis' : databaseUrl !== undefined ? 'postgres' : 'sqlite',
    results: resultsUrl === undefined ? 'folder' : 's3',
  };
}

/** What a person reads in the terminal: what it works on, and where it finds that; not by addresses, which hold passwords. */
function workerGreeting({ url, engine, registry }: Worker, config: Config): string {
  const { poolThreads, redisUrl, resultsUrl, dataDir } = config;
  const threads = poolThreads === 1 ? '1 thread' : `${poolThreads} threads`;
  const queue = redisUrl === undefined ? databasePlace(config) : 'Redis (REDIS_URL)';
  const results = resultsUrl ?? resolve(join(dataDir, 'results'));
  const lines = [
    `helper-gateway works on jobs of ${registry.size} helpers, with ${threads} (images: ${engine.engine})`,
    '',
    ...[...registry.keys()].map((id) => `  ${id}`),
    '',
    `The queue is in ${queue}; files and results are in ${results}.`,
    ...(url === undefined ? [] : [`Its health is at ${url}/readyz.`]),
  ];
  return `${lines.join('\n')}\n`;
}
