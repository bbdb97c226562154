import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ListenOptions {
  host: string;
  port: number;
  /** The variable that the port is set by, for whoever has to choose another. */
  variable: string;
}

/** Listens, and gives the url to reach the server at; the promise fails where the address is taken or not allowed. */
export function listen(server: Server, { host, port, variable }: ListenOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = reasonOf(error, variable);
      reject(new Error(`Cannot listen on ${host}:${port}: ${reason}`, { cause: error }));
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      const { address, family, port: bound } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException, variable: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `something listens there already. Choose another port with ${variable}.`;
    case 'EACCES':
      return `this user may not open this port; take one from 1024 up with ${variable}.`;
    case 'EADDRNOTAVAIL':
      return 'this machine has no such address.';
    case 'ENOTFOUND':
      return 'this host name is not known.';
    default:
      return message;
  }
}
