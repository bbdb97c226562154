import type { IncomingMessage } from 'node:http';

/** How long a client may go on sending what nobody wants. */
const patienceMs = 10_000;

/**
 * Reads and drops what is left of a body whose call has been answered already. Closing the connection in its place
 * would reset it under a client that is still sending, which then sees a broken connection and not the answer that
 * says why. One that goes on for too long is cut off all the same.
 */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const timer = setTimeout(() => request.socket.destroy(), patienceMs).unref();
  request.once('close', () => clearTimeout(timer));
  request.once('end', () => clearTimeout(timer));
  request.on('error', () => undefined);
  request.resume();
}
