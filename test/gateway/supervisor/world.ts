import { mkdtemp, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fixture } from '../../fixtures.js';
import { operatorToken, startGatewayProcess } from '../harness.js';

/** `serve` with its processes, as the tests look at it. */
export type World = Awaited<ReturnType<typeof startWorld>>;

export async function startWorld(env: Record<string, string>) {
  const dataDir = await mkdtemp(join(tmpdir(), 'processes-'));
  const gateway = await startGatewayProcess({
    HELPER_DATA_DIR: dataDir,
    HELPER_PLUGINS: fixture('plugins/pool'),
    HELPER_TASK_TIMEOUT_MS: '60000',
    HELPER_RATE: '0',
    HELPER_OPERATOR_TOKEN: operatorToken,
    LOG_LEVEL: 'debug',
    ...env,
  });
  const lines = (part: string) =>
    gateway
      .written()
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{') && line.includes(part))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  // The log may come later than what is printed of the start.
  await gateway.until(() => lines('"msg":"listening"').length >= Number(env.HELPER_PROCESSES ?? 1));
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' };

  async function command(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(gateway.connect_url + path, { method, headers, ...init });
    const answer = (await response.json()) as { data: Record<string, unknown> };
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer.data;
  }

  return {
    ...gateway,
    dataDir,
    key: gateway.first_key?.key ?? '',
    /** Lines of the log that hold this. */
    lines,
    /** The processes that have begun to serve, the dead ones too. */
    pids: () => lines('"msg":"listening"').map(({ pid }) => pid as number),
    /** Calls the site's API. */
    command,
    /** A tenant with these limits, and a key of it. */
    async tenant(name: string, limits: object): Promise<string> {
      await command('POST', '/api/tenants', { name });
      await command('PATCH', `/api/tenants/${name}`, limits);
      return (await command('POST', `/api/tenants/${name}/keys`, {})).key as string;
    },
    metrics: async () => (await fetch(new URL('/metrics', gateway.connect_url), { headers })).text(),
    async end() {
      await gateway.stop('SIGKILL');
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Calls on a connection of its own, which is dealt to the next process; the status, or 0 where it broke. */
export function callOnce(url: string): Promise<number> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (response) => {
      response.on('error', () => resolve(0)).on('end', () => resolve(response.statusCode ?? 0));
      response.resume();
    }).on('error', () => resolve(0));
  });
}

export function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
