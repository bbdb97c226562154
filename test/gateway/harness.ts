import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { loadConfig } from '../../gateway/config.js';
import { startGateway } from '../../gateway/gateway.js';
import { fixture } from '../fixtures.js';
import { writeEffectHelpers } from './effect-helpers.js';
import { master } from './signing/signing.js';
import './site/quick-passwords.js';

/** A process that a test started, and what it has written so far. */
export type Child = ReturnType<typeof startChild>;

/** Where a hook ran out of time, this alone knows what it started, and the tests would never end. */
const living = new Set<ChildProcess>();
let isOver = false;
if (typeof after === 'function') {
  after(() => {
    isOver = true;
    for (const child of living) child.kill('SIGKILL');
  });
}

/** Starts a process; nothing is its standard input unless `options` say otherwise. */
export function startChild(command: string, args: string[], options: SpawnOptions = {}) {
  if (isOver) throw new Error('the tests are over');
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const news = new EventEmitter().setMaxListeners(0);
  const said = { stdout: '', stderr: '', written: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
      said.written += text;
      news.emit('more');
    });
  }
  living.add(child);
  let end: string | undefined;
  const ended = once(child, 'close').then(([code, signal]) => {
    living.delete(child);
    end = `${code ?? signal}`;
    news.emit('more');
    return code as number | null;
  });
  return {
    process: child,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    /** Both, in the order in which they came. */
    written: () => said.written,
    /** Its exit code, once it has ended and all that it wrote has come; null where a signal ended it. */
    ended,
    /** Waits until `look` finds something in what is written; rejects with that where the process ends before. */
    async until<T>(look: () => T): Promise<NonNullable<T>> {
      for (;;) {
        const found = look();
        if (found) return found;
        if (end !== undefined) throw new Error(`ended with ${end}: ${said.written}`);
        await once(news, 'more');
      }
    },
  };
}

/** The product's command. */
export const bin = fileURLToPath(new URL('../../../gateway/bin.cjs', import.meta.url));

/** What `serve --json` says once it serves. */
export type Started = { url: string; connect_url: string; first_key: { key: string; id: string } | null };

/** A gateway in a process of its own, as people run it. */
export type GatewayProcess = Awaited<ReturnType<typeof startGatewayProcess>>;

function startCommand(args: string[], env: NodeJS.ProcessEnv): Child {
  const preset = { PORT: '0', CONNECT_PORT: '0', HELPER_POOL_THREADS: '1', LOG_LEVEL: 'warn' };
  // Nothing balances calls here, and each stop would wait for it to notice.
  const own = { PATH: process.env.PATH, ...preset, HELPER_DRAIN_MS: '0', ...env };
  return startChild(process.execPath, [bin, ...args], { env: own });
}

/** Starts a gateway and waits until it serves; rejects with what it printed where it ends instead. */
export async function startGatewayProcess(env: NodeJS.ProcessEnv) {
  const { process: child, stdout, written, until, ended } = startCommand(['serve', '--json'], env);
  /** Sends a signal and waits for the end; gives the exit code. */
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return ended;
  };
  return { ...(await until(() => startedIn(stdout()))), child, written, until, ended, stop };
}

/** The process that serves: what was started is its supervisor. On Linux alone. */
export function servingPid({ child: { pid = 0 } }: Pick<GatewayProcess, 'child'>): number {
  return childrenOf(pid)[0] ?? 0;
}

/** The processes that a process has started and that live, the oldest first. On Linux alone. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.trim().split(' ').filter(Boolean).map(Number);
}

/** The line of `serve --json` among those that are whole; throws where one is no JSON. */
export function startedIn(stdout: string): Started | undefined {
  const lines = stdout.split('\n').slice(0, -1);
  const parsed = lines.map((line) => JSON.parse(line) as { ok?: boolean; data?: Started });
  return parsed.find(({ ok }) => ok)?.data;
}

/** Runs one command to its end. */
export async function runCommand(args: string[], env: Record<string, string>) {
  const child = startCommand(args, env);
  const code = await child.ended;
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}

export const maxTextBytes = 20_000;
export const maxImageBytes = 150_000;

/** What contextual helpers may not have in the log. */
export const contextKey = 'very-secret-key';

const plugins = 'alternatives author context deadlines files good outputs results reuse'.split(' ');

/** A gateway for all files of a process that vary input only: a start costs more than most of them. */
let sharing: ReturnType<typeof start> | undefined;
let folder: string | undefined;

/**
 * The gateway that is shared, started where it is not yet, with its data folder and its helpers with effects. From now on `answer` is
 * the web: the one origin that it downloads from.
 */
export async function shareGateway(answer?: RequestListener) {
  sharing ??= start();
  const shared = await sharing;
  shared.web.removeAllListeners('request');
  if (answer) shared.web.on('request', answer);
  return shared;
}

async function start() {
  const web = createServer().listen(0, '127.0.0.1');
  await once(web, 'listening');
  const origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  folder = await mkdtemp(join(tmpdir(), 'shared-'));
  const effects = await writeEffectHelpers(folder);
  const folders = [...plugins.map((name) => fixture(`plugins/${name}`)), effects.plugins];
  const dataDir = join(folder, 'data');
  const api = await startTestGateway({
    HELPER_DATA_DIR: dataDir,
    HELPER_PLUGINS: folders.join(':'),
    HELPER_SIGNING_SECRET: master,
    HELPER_TASK_TIMEOUT_MS: '600000',
    HELPER_MAX_TEXT_BYTES: String(maxTextBytes),
    HELPER_MAX_IMAGE_BYTES: String(maxImageBytes),
    HELPER_SOURCE_ORIGINS: origin,
    HELPER_OPERATOR_TOKEN: operatorToken,
    HELPER_CORS_ORIGINS: 'https://page.example,https://app.example',
    TEST_CONTEXT_KEY: contextKey,
    TEST_CONTEXT_REGION: '',
    TRANSLATE_API_KEY: 'top-secret',
    TRANSLATE_URL: `${origin}/translate`,
  });
  return { api, dataDir, web, origin, effects };
}

// Benchmarks and the soak use this file without mocha, and never share a gateway.
if (typeof after === 'function') after(closeShared);

async function closeShared(): Promise<void> {
  const shared = await sharing?.catch(() => undefined);
  await shared?.api.close();
  shared?.web.closeAllConnections();
  shared?.web.close();
  if (folder) await rm(folder, { recursive: true });
}

/** Holds calls of the fixture helper `gate`, for as long as a test needs them under way; `path` is that of such a call. */
export async function createGate() {
  const folder = await mkdtemp(join(tmpdir(), 'gate-'));
  const file = join(folder, 'open');
  return {
    file,
    path: `/gate?path=${encodeURIComponent(file)}`,
    open: () => writeFile(file, ''),
    close: () => rm(folder, { recursive: true }),
  };
}

export type Gate = Awaited<ReturnType<typeof createGate>>;

/** To be given to a gateway whose gauges are asked for. */
export const operatorToken = 'token-of-this-test-of-32-characters';

/** What a gauge of a gateway says now. */
export async function gauge(connectUrl: string, name: string): Promise<number> {
  const headers = { authorization: `Bearer ${operatorToken}` };
  const text = await (await fetch(new URL('/metrics', connectUrl), { headers })).text();
  const [, value] = new RegExp(`^helper_gateway_${name} (\\d+)$`, 'm').exec(text) ?? [];
  if (value === undefined) throw new Error(`no gauge ${name}: ${text}`);
  return Number(value);
}

export type TestGateway = Awaited<ReturnType<typeof startTestGateway>>;

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

/** Starts a real gateway on a free port with an embedded database, with these variables on top of the test's own. */
export async function startTestGateway(env: Record<string, string> = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  const log: Record<string, unknown>[] = [];
  const write = (line: string) => void log.push(JSON.parse(line));
  const logger = pino({ level: env.LOG_LEVEL ?? 'info' }, { write });
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
    /** The lines that were logged, parsed. */
    log,
    /** Calls a path with the key in the query; `init.body` objects are sent as JSON. */
    call: (path: string, init: CallInit = {}) => call(gateway.url, path, key, init),
    /** Calls the site's API as the operator, where the gateway has `operatorToken`; gives the answer's data. */
    async manage(path: string, body: Record<string, unknown> = {}, method = 'POST') {
      const headers = { authorization: `Bearer ${operatorToken}` };
      const { status, json } = await call(gateway.connectUrl, path, '', { method, headers, body, key: null });
      if (status !== 200 && !(method === 'PUT' && status === 201))
        throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
      return json.data;
    },
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
  const sent = isObject ? JSON.stringify(body) : (body as RequestInit['body']);
  const type = isObject && { 'content-type': 'application/json' };
  const response = await fetch(url, {
    ...(body !== undefined && { method: 'POST', body: sent }),
    headers: { ...type, ...(headers as Record<string, string>) },
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
