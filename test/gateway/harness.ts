import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { loadConfig } from '../../gateway/config.js';
import { type Gateway, startGateway } from '../../gateway/gateway.js';
import './site/quick-passwords.js';

/** A real gateway on a free port with an embedded database of its own. */
export interface TestGateway {
  gateway: Gateway;
  url: string;
  key: string;
  /** The lines that were logged, parsed. */
  log: Record<string, unknown>[];
  /** Calls a path with the key in the query; `init.body` objects are sent as JSON. */
  call(path: string, init?: CallInit): Promise<Answer>;
  close(): Promise<void>;
}

export interface CallInit extends Omit<RequestInit, 'body'> {
  body?: RequestInit['body'] | Record<string, unknown>;
  /** In place of the gateway's own key; null sends none. */
  key?: string | null;
}

export interface Answer {
  status: number;
  headers: Headers;
  bytes: Uint8Array;
  /** The envelope, where the answer is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into every shape of answer
  json: any;
}

/** Starts a gateway with these variables on top of the test's own. */
export async function startTestGateway(env: Record<string, string> = {}): Promise<TestGateway> {
  const dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    { level: env.LOG_LEVEL ?? 'info' },
    { write: (line) => void log.push(JSON.parse(line)) },
  );
  const config = loadConfig({
    PORT: '0',
    CONNECT_PORT: '0',
    HELPER_DATA_DIR: dataDir,
    HELPER_POOL_THREADS: '1',
    HELPER_RATE: '0',
    // A busy machine is no fault of a helper's or of a server's.
    HELPER_TASK_TIMEOUT_MS: '60000',
    HELPER_SOURCE_TIMEOUT_MS: '60000',
    ...env,
  });
  const gateway = await startGateway(config, logger, { env });
  const key = gateway.firstKey?.key ?? '';
  return {
    gateway,
    url: gateway.url,
    key,
    log,
    call: (path, init = {}) => call(gateway.url, path, key, init),
    async close() {
      await gateway.close();
      await rm(dataDir, { recursive: true });
    },
  };
}

async function call(base: string, path: string, ownKey: string, init: CallInit): Promise<Answer> {
  const { key = ownKey, body, headers, ...rest } = init;
  const url = key === null ? `${base}${path}` : `${base}${path}${path.includes('?') ? '&' : '?'}ak=${key}`;
  const isObject =
    typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;
  const response = await fetch(url, {
    ...(body === undefined
      ? {}
      : { method: 'POST', body: isObject ? JSON.stringify(body) : (body as RequestInit['body']) }),
    headers: {
      ...(isObject ? { 'content-type': 'application/json' } : {}),
      ...(headers as Record<string, string>),
    },
    ...rest,
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && bytes.length > 0;
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    json: isJson ? JSON.parse(new TextDecoder().decode(bytes)) : undefined,
  };
}
