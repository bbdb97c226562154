import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runCommand, servingPid, startGatewayProcess } from '../gateway/gateway-process.js';
import { type Call, createClient, inParallel } from '../soak/client.js';
import { multipart } from '../soak/multipart.js';
import { cpuMsOf } from './cpu.js';
import type { Contender } from './rounds.js';

/** A server in a process of its own, so that its work can be told from the client's. */
export interface Server {
  url: string;
  pid: number;
  close(): Promise<void>;
}

export interface BenchGateway extends Server {
  /** Of the first tenant. */
  key: string;
  /** A key of another tenant. */
  issueKey(tenant: string): Promise<string>;
}

/** A gateway as people run it, without a rate or what else is given. */
export async function startGateway(other: Record<string, string> = {}): Promise<BenchGateway> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-'));
  const env = {
    HELPER_DATA_DIR: dataDir,
    HELPER_RATE: '0',
    HELPER_POOL_THREADS: '2',
    LOG_LEVEL: 'error',
    ...other,
  };
  const { url, child, stop, first_key } = await startGatewayProcess(env);
  endWithUs(child);
  readOn(child);
  return {
    url,
    pid: servingPid({ child }),
    key: first_key?.key ?? '',
    async issueKey(tenant) {
      await runCommand(['tenants', 'create', tenant], env);
      return (await runCommand(['keys', 'issue', tenant], env)).stdout.trim();
    },
    async close() {
      await stop();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** Runs a script beside this one that prints its url and serves. */
export async function startScript(name: string, args: readonly string[] = []): Promise<Server> {
  const script = fileURLToPath(new URL(name, import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithUs(child);
  const [url] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [
    string,
  ];
  readOn(child);
  return {
    url,
    pid: child.pid ?? 0,
    async close() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** What is written from now on, as a log, is read and dropped: to keep it would slow the clients down. */
function readOn({ stdout }: ChildProcess): void {
  stdout?.removeAllListeners('data').resume();
}

/** A bench that breaks off leaves no server behind. */
function endWithUs(child: ChildProcess): void {
  process.once('exit', () => child.kill());
}

/** An upload of a picture. */
export function upload(path: string, bytes: Uint8Array, fields: Record<string, string>): Call {
  const form = multipart([
    ...Object.entries(fields).map(([name, value]) => ({ name, value })),
    { name: 'file', filename: 'picture', value: bytes },
  ]);
  return { path, ...form };
}

let uploads = 0;

/**
 * The same upload of a picture that no call has had before, which nobody can have kept a result of: a few bytes stand behind its end,
 * where no decoder looks.
 */
export function fresh({ body = '', ...call }: Call): Call {
  const bytes = Buffer.from(body as Uint8Array);
  const end = bytes.lastIndexOf('\r\n--');
  uploads += 1;
  const more = Buffer.from(` ${uploads}`);
  return { ...call, body: Buffer.concat([bytes.subarray(0, end), more, bytes.subarray(end)]) };
}

const clients = 4;

/** Asks a server again and again, four at a time, for the same or for what `call` makes, and counts what that costs the server. */
export function asked({ url, pid }: Server, call: Call | (() => Call), wanted = 200): Contender {
  const client = createClient(url, clients);
  return {
    cpuMs: () => cpuMsOf(pid),
    work: (pieces) =>
      inParallel({ at: clients, times: pieces, goesOn: () => true }, async () => {
        const { status } = await client.call(typeof call === 'function' ? call() : call);
        if (status !== wanted) throw new Error(`${url} answered ${status}`);
      }),
  };
}

/** For whom a turn has to be longer: the kernel counts another process's time in hundredths of a second. */
export const turnMs = 600;

/** The bytes of one answer. */
export async function answerOf({ url }: Server, { path, body, type }: Call): Promise<Uint8Array> {
  const init = body === undefined ? {} : { method: 'POST', body: body as Buffer<ArrayBuffer> };
  const response = await fetch(`${url}${path}`, {
    ...init,
    ...(type && { headers: { 'content-type': type } }),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return new Uint8Array(await response.arrayBuffer());
}
