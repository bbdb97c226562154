import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { open, statusOf } from '../gateway/raw-client.js';

export interface Call {
  path: string;
  /** POST with a body, else GET. */
  body?: Uint8Array | string;
  type?: string;
  headers?: OutgoingHttpHeaders;
}

export type Client = ReturnType<typeof createClient>;

/** A well-behaved HTTP client with at most so many connections, which it keeps. */
export function createClient(url: string, connections: number, timeoutMs = 30_000) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return {
    /** The status, 0 where there was no whole answer, and the milliseconds until it was read. */
    call({ path, body, type = 'application/json', headers = {} }: Call) {
      const began = performance.now();
      return new Promise<{ status: number; ms: number; bytes: number }>((resolve) => {
        const done = (status: number, bytes = 0) => resolve({ status, bytes, ms: performance.now() - began });
        const method = body === undefined ? 'GET' : 'POST';
        const own =
          body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) };
        const options = { method, agent, headers: { ...own, ...headers } };
        const sent = request(`${url}${path}`, options, (answer) => {
          let bytes = 0;
          answer.on('data', (chunk: Uint8Array) => {
            bytes += chunk.length;
          });
          answer.once('end', () => done(answer.statusCode ?? 0, bytes));
          answer.once('error', () => done(0));
        });
        const timer = setTimeout(() => sent.destroy(new Error('timeout')), timeoutMs);
        sent.once('close', () => clearTimeout(timer));
        sent.once('error', () => done(0));
        sent.end(body);
      });
    },
    close: () => agent.destroy(),
  };
}

/**
 * Writes these bytes on a connection of their own and gives the status of the first answer when it is whole, or 0 where
 * none has come within `timeoutMs`.
 */
export function exchange(url: string, bytes: Uint8Array, timeoutMs: number): Promise<number> {
  return new Promise((resolve) => {
    const socket = open(url);
    let text = '';
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(statusOf(text));
    };
    const timer = setTimeout(done, timeoutMs);
    socket.once('connect', () => socket.write(bytes));
    socket.on('data', (data) => {
      if (text.length < 64 * 1024) text += data.toString('latin1');
      if (isWhole(text)) done();
    });
    socket.once('error', done);
    socket.once('end', done);
    socket.once('close', done);
  });
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0 || statusOf(text) < 200) return false;
  const length = Number(/^content-length: (\d+)/im.exec(text.slice(0, headEnd))?.[1] ?? 0);
  return text.length >= headEnd + 4 + length;
}

/** Runs `work` for each number below `times`, so many at once, for as long as `goesOn`. */
export async function inParallel(
  { at, times, goesOn }: { at: number; times: number; goesOn: () => boolean },
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < times && goesOn()) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(at, times) }, worker));
}
