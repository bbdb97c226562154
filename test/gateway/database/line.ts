import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A TCP line to the server of a `postgres://` url that can be cut and mended. */
export async function createLine(location: string) {
  const url = new URL(location);
  const target = { host: url.hostname, port: Number(url.port || 5432) };
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;

  async function mend(): Promise<void> {
    server = createServer((near) => {
      const far = connect(target);
      for (const socket of [near, far]) {
        sockets.add(socket);
        socket.on('error', () => {}).on('close', () => sockets.delete(socket));
      }
      near.pipe(far).pipe(near);
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  }

  async function cut(): Promise<void> {
    server?.close();
    for (const socket of sockets) socket.destroy();
    await sleep(20);
  }

  await mend();
  url.host = `127.0.0.1:${port}`;
  return { url: url.href, cut, mend };
}
