import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

export type RawServer = Awaited<ReturnType<typeof startRawServer>>;

/**
 * A server on loopback that answers with exactly the bytes a test wants, HTTP or not: `answer` gets the socket when a
 * whole request head has come, and its path.
 */
export async function startRawServer(answer: (socket: Socket, path: string) => void) {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  // Without a delay, what is written has come to the other end's kernel, rather than wait for its word on what was before.
  const server = net.createServer({ noDelay: true }, (socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    let head = '';
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      requests.push(head);
      answer(socket, head.split(' ')[1] ?? '');
      head = '';
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The requests' heads as they came. */
    requests,
    /** Connections that are open now. */
    open: () => sockets.size,
    /** Connections that there have been. */
    accepted: () => accepted,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A response with its right content-length. */
export function ok(body: string | Uint8Array, headers = ''): Buffer {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${headers}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body as string)]);
}

export function redirect(location: string, status = 302): string {
  return `HTTP/1.1 ${status} Found\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`;
}

/** What a promise was rejected with; fails if it was not. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  const outcome = await promise.then(() => undefined).catch((error: unknown) => error);
  if (!(outcome instanceof Error)) throw new Error('was not rejected with an error');
  return outcome;
}

/** The code of the error that a promise was rejected with. */
export async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return (await rejection(promise)).code;
}

/** Lets what was written come to the other end's kernel, while nothing in this process reads it. */
export function deliver(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3);
}
