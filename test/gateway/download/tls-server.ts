import { once } from 'node:events';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';

/** An https server on loopback that answers every request with the host that was asked for, and notes each connection. */
export interface TlsServer {
  port: number;
  /** Of each connection, whether it resumed a session. */
  handshakes: boolean[];
  open(): number;
  /** Lets the server's ends of its connections keep no process alive. */
  unref(): void;
  /** Closes the connections that are open. */
  drop(): void;
  close(): Promise<void>;
}

export async function startTlsServer(options: TlsOptions): Promise<TlsServer> {
  const handshakes: boolean[] = [];
  const sockets = new Set<TLSSocket>();
  const server = https.createServer(options, (request, response) => response.end(request.headers.host));
  server.on('secureConnection', (socket: TLSSocket) => {
    handshakes.push(socket.isSessionReused());
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    handshakes,
    open: () => sockets.size,
    unref() {
      for (const socket of sockets) socket.unref();
    },
    drop,
    async close() {
      drop();
      server.close();
      await once(server, 'close');
    },
  };
}
