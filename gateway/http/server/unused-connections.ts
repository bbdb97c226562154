import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Makes idle connections include those on which nothing was ever asked, which Node counts as busy: a browser opens one
 * in advance, and it would hold up a shutdown to the end of its grace. Gives the set that a request takes its socket from.
 */
export function closeUnusedConnections(server: Server): Set<Socket> {
  const unused = new Set<Socket>();
  server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = function closeIdleConnections() {
    closeIdle();
    for (const socket of unused) socket.destroy();
  };
  return unused;
}
