import type { Logger } from 'pino';
import { visibleJson } from '../../schemas/quote.js';
import type { Config } from '../config.js';
import type { Gateway } from '../gateway.js';
import type { Member } from '../processes/member.js';
import type { Ports } from '../processes/messages.js';
import { reserveStdout } from './reserve-stdout.js';
import { closeOnSignal, reloadOnHangup } from './signals.js';

/** What an end may take beside the calls under way, such as a webhook or the last lines of usage. */
const lastMs = 15_000;

/** What a command runs until it is told to stop. */
export interface LongRun<Running> {
  start(config: Config, logger: Logger, member: Member | undefined): Promise<Running>;
  /** What is told of the start as JSON, and to people. */
  describe(running: Running, config: Config): object;
  greeting(running: Running, config: Config): string;
  /** What other processes of this host are to listen on too. */
  ports(running: Running): Ports;
}

/** Starts it by the environment, prints what was started, and ends it in order when a signal says so. */
export async function runUntilTold<Running extends Pick<Gateway, 'drain' | 'close' | 'reload'>>(
  json: boolean,
  run: LongRun<Running>,
): Promise<void> {
  // Only here and below: help, and each other command, is there before these are loaded.
  const { loadConfig } = await import('../config.js');
  const { openJsonLog, openLog } = await import('./open-log.js');
  const { sealObjectPrototype } = await import('../../pool/object-prototype.js');
  const { joinProcesses } = await import('../processes/member.js');
  const member = joinProcesses();
  sealObjectPrototype();
  const given = loadConfig(process.env);
  const config = member?.settle(given) ?? given;
  const { logLevel, processes } = config;
  const logger = json ? openJsonLog(logLevel) : await openLog(logLevel, process.stdout);
  // Programs read what is printed with --json; plugins print what they like, on any thread.
  const stdout = json ? reserveStdout() : process.stdout;
  const starting = run.start(config, logger, member);
  reloadOnHangup(starting, logger, member?.signals);
  const running = await starting;
  // First, for whoever reads the next line may send a signal at once.
  closeOnSignal(running, logger, member?.signals);
  const said = json
    ? visibleJson(JSON.stringify({ ok: true, data: run.describe(running, config) }))
    : run.greeting(running, config);
  const text = `${said}\n`;
  const { drainMs, taskTimeoutMs, sourceTimeoutMs } = config;
  const limits = {
    stopMs: drainMs + taskTimeoutMs + sourceTimeoutMs + lastMs,
    silentMs: taskTimeoutMs + 20_000,
    silentAtEndMs: Math.min(10_000, taskTimeoutMs + 2_000),
  };
  if (!member) {
    stdout.write(text);
    return;
  }
  try {
    member.ready({ text, processes, logLevel, json, ports: run.ports(running), ...limits });
  } catch (error) {
    // At once: no client knows this address, and what is open here would keep the process alive at it for good.
    process.stderr.write(`helper-gateway: ${(error as Error).message}\n`);
    process.exit(1);
  }
}
