import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runCommand, servingPid, startGatewayProcess } from '../gateway/harness.js';
import { type Call, createClient, inParallel } from '../soak/client.js';
import { multipart } from '../soak/mutate.js';
import { type Contender, cpuMsOf } from './measure.js';

const headEnd = Buffer.from('\r\n\r\n');

/**
 * Sends one request so many times, on so many connections at a time, each waiting for its answer.
 * Cheap, so that what is measured is the server; rejects for any answer but 200.
 */
export async function hammer(
  url: string,
  request: Uint8Array,
  { connections, calls }: { connections: number; calls: number },
): Promise<void> {
  const { hostname, port } = new URL(url);
  let begun = 0;
  const client = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ port: Number(port), host: hostname, noDelay: true });
      let left = 0;
      socket.on('error', reject);
      const next = () => {
        begun += 1;
        if (begun <= calls) return void socket.write(request);
        socket.removeAllListeners('close').destroy();
        resolve();
      };
      socket.on('connect', next);
      socket.on('close', () => reject(new Error(`${url} hung up`)));
      socket.on('data', (piece) => {
        left = left > 0 ? left - piece.length : answerBytes(piece) - piece.length;
        if (Number.isNaN(left)) return void socket.destroy(new Error(`answered ${piece.toString('latin1')}`));
        if (left === 0) next();
      });
    });
  await Promise.all(Array.from({ length: connections }, client));
}

/** Bytes of a whole answer, whose head came in one piece; not a number for one that is no success. */
function answerBytes(piece: Buffer): number {
  const head = piece.indexOf(headEnd);
  const text = piece.toString('latin1', 0, head);
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return text.startsWith('HTTP/1.1 200 ') ? head + headEnd.length + Number(length) : Number.NaN;
}

/** A server in a process of its own, so that its work can be told from the client's. */
export interface Server {
  url: string;
  pid: number;
  close(): Promise<void>;
}

interface BenchGateway extends Server {
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
