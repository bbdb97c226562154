import type { Server } from 'node:http';

/**
 * Closes connections beyond so many at once. Node's own `maxConnections` would do, but for a process that is handed its connections by
 * another one: it hands a refused one back, and where all are full it goes round without end.
 */
export function boundConnections(server: Server, most: number): void {
  let open = 0;
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open > most) socket.destroy();
  });
}
