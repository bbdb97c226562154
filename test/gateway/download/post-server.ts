import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a receiver was sent. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A receiver on loopback: notes what it was sent and answers as a test wants, 204 by default. */
export interface PostServer {
  origin: string;
  received: Received[];
  /** Connections that are open now. */
  open(): number;
  close(): Promise<void>;
}

export async function startPostServer(
  answer: (response: ServerResponse, received: Received) => void = (response) =>
    void response.writeHead(204).end(),
): Promise<PostServer> {
  const received: Received[] = [];
  let open = 0;
  const server = http.createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, headers, body: Buffer.concat(pieces).toString() };
      received.push(one);
      answer(response, one);
    });
  });
  server.on('connection', (socket) => {
    open += 1;
    socket.on('close', () => {
      open -= 1;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    open: () => open,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
