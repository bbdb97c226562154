import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from './child.js';

/** The product's command. */
export const bin = fileURLToPath(new URL('../../../gateway/bin.cjs', import.meta.url));

/** What `serve --json` says once it serves. */
export interface Started {
  url: string;
  connect_url: string;
  first_key: { key: string; id: string } | null;
}

/** A gateway in a process of its own, as people run it. */
export interface GatewayProcess extends Started, Pick<Child, 'written' | 'until' | 'ended'> {
  child: ChildProcess;
  /** Sends a signal and waits for the end; gives the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    PORT: '0',
    CONNECT_PORT: '0',
    HELPER_POOL_THREADS: '1',
    // Nothing balances calls here, and each stop would wait for it to notice.
    HELPER_DRAIN_MS: '0',
    LOG_LEVEL: 'warn',
    ...env,
  };
}

/** Starts a gateway and waits until it serves; rejects with what it printed where it ends instead. */
export async function startGatewayProcess(env: NodeJS.ProcessEnv): Promise<GatewayProcess> {
  const child = startChild(process.execPath, [bin, 'serve', '--json'], { env: environment(env) });
  const started = await child.until(() => startedIn(child.stdout()));
  const { process: own, written, until, ended } = child;
  return {
    ...started,
    child: own,
    written,
    until,
    ended,
    stop(signal = 'SIGTERM') {
      own.kill(signal);
      return ended;
    },
  };
}

/** The process that serves: what was started is its supervisor. Linux alone tells of it. */
export function servingPid({ child: { pid = 0 } }: Pick<GatewayProcess, 'child'>): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}

/** The line of `serve --json` among those that are whole; throws where one is no JSON. */
export function startedIn(stdout: string): Started | undefined {
  const lines = stdout.split('\n').slice(0, -1);
  const parsed = lines.map((line) => JSON.parse(line) as { ok?: boolean; data?: Started });
  return parsed.find(({ ok }) => ok)?.data;
}

/** Runs one command to its end. */
export async function runCommand(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = startChild(process.execPath, [bin, ...args], { env: environment(env) });
  const code = await child.ended;
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}
