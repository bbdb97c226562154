import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixture } from '../fixtures.js';

/** How a raw exchange ended: what came back with the first answer's status, and the error where the connection broke. */
type RawAnswer = { text: string; status: number; error: string | undefined };

/** Opens a connection to a gateway's address; each side closes its own half. */
export function open(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect({ port: Number(port), host: hostname, allowHalfOpen: true });
}

/**
 * Sends a head and then `bytes` bytes of body, reads nothing before all is sent, as simple clients do, and gives what is
 * there to be read then.
 */
export function sendAllThenRead(url: string, head: string, bytes: number): Promise<RawAnswer> {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  return new Promise((resolve) => {
    const socket = open(url).pause();
    let text = '';
    let error: string | undefined;
    let left = bytes;
    const send = () => {
      while (left > 0) {
        const part = chunk.subarray(0, Math.min(left, chunk.length));
        left -= part.length;
        if (!socket.write(part)) return void socket.once('drain', send);
      }
      socket.write('', () => {
        socket.resume();
        setTimeout(() => socket.end(), 200);
      });
    };
    socket.once('connect', () => {
      socket.write(head, 'latin1');
      send();
    });
    socket.on('data', (data) => {
      text += data.toString('latin1');
    });
    socket.on('error', (fault: NodeJS.ErrnoException) => {
      error = fault.code ?? fault.message;
    });
    socket.setTimeout(30_000, () => socket.destroy());
    socket.once('close', () => resolve({ text, status: statusOf(text), error }));
  });
}

/** The status of an answer as it came; 0 where it is none. */
export function statusOf(text: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 0);
}

/** What a gateway needs for `holdCall`: the helper, and more time than any test takes. */
export const holding = { HELPER_PLUGINS: fixture('plugins/pool'), HELPER_TASK_TIMEOUT_MS: '60000' };

/** Makes a call and waits until its helper is at work; the call ends when what this gives is called, which gives the answer. */
export async function holdCall(url: string, key: string, folder: string): Promise<() => Promise<Response>> {
  const file = join(folder, 'held');
  const answer = fetch(`${url}/hold?${new URLSearchParams({ file, ak: key })}`);
  let early: unknown;
  const ended = (end: unknown) => {
    early = end instanceof Response ? end.status : end;
  };
  answer.then(ended, ended);
  while (!existsSync(file)) {
    if (early !== undefined) throw new Error(`the call that was to be held ended: ${early}`);
    await sleep(20);
  }
  return async () => {
    await rm(file);
    return answer;
  };
}

/** Until no new connection is accepted. */
export async function closed(url: string): Promise<void> {
  while (await fetch(`${url}/healthz`).catch(() => undefined)) await sleep(20);
}
