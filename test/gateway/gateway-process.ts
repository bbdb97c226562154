import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../../gateway/bin.cjs', import.meta.url));

/** What `serve --json` says once it serves. */
export interface Started {
  url: string;
  connect_url: string;
  first_key: { key: string; id: string } | null;
}

/** A gateway in a process of its own, as people run it. */
export interface GatewayProcess extends Started {
  child: ChildProcess;
  /** What it has written so far, on both streams. */
  written(): string;
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
  const child = spawn(process.execPath, [bin, 'serve', '--json'], {
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  let output = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
    output += chunk;
  });
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const lines = createInterface({ input: child.stdout });
  const started = await new Promise<Started>((resolve, reject) => {
    lines.on('line', (line) => {
      const { ok, data } = JSON.parse(line) as { ok?: boolean; data?: Started };
      if (ok && data) resolve(data);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${errors}`)));
  });
  return {
    ...started,
    child,
    written: () => output,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      // When all that it wrote has come, too.
      const ended = once(child, 'close');
      child.kill(signal);
      const [code] = await ended;
      return code as number | null;
    },
  };
}

/** Runs one command to its end. */
export async function runCommand(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [bin, ...args], {
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, stdout, stderr };
}
