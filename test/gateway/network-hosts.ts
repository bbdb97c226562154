import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Hosts of a network of their own on this machine, each a network namespace: root alone can make them. */
export interface NetworkHosts {
  /** The words before a command that is to run on a host, and its address. */
  on(host: number): { before: string[]; address: string };
  /** Makes a server of this machine's loopback reachable for them; gives its address there. */
  forward(port: number, host?: string): Promise<{ host: string; port: number }>;
  close(): Promise<void>;
}

/** Why there can be none; undefined where they can be made. */
export function networkHostsFault(): string | undefined {
  try {
    ip('netns', 'add', 'hg-probe');
    ip('netns', 'del', 'hg-probe');
    return undefined;
  } catch (error) {
    return (error as Error).message.split('\n', 1)[0];
  }
}

export function openNetworkHosts(count: number): NetworkHosts {
  const net = randomInt(1, 255);
  const name = `hg${process.pid % 10_000}${net}`;
  const bridge = `${name}br`;
  const here = `10.213.${net}.1`;
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  ip('link', 'add', bridge, 'type', 'bridge');
  ip('addr', 'add', `${here}/24`, 'dev', bridge);
  ip('link', 'set', bridge, 'up');
  for (let host = 0; host < count; host += 1) {
    const [space, outer, inner] = [`${name}n${host}`, `${name}o${host}`, `${name}i${host}`];
    ip('netns', 'add', space);
    ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner);
    ip('link', 'set', inner, 'netns', space);
    ip('link', 'set', outer, 'master', bridge, 'up');
    ip('-n', space, 'addr', 'add', `${addressOf(host)}/24`, 'dev', inner);
    ip('-n', space, 'link', 'set', inner, 'up');
    ip('-n', space, 'link', 'set', 'lo', 'up');
  }

  function addressOf(host: number): string {
    return `10.213.${net}.${host + 11}`;
  }

  return {
    on: (host) => ({ before: ['ip', 'netns', 'exec', `${name}n${host}`], address: addressOf(host) }),
    async forward(port, host = '127.0.0.1') {
      const server = createServer((socket) => {
        const onward = connect(port, host);
        for (const [from, to] of [
          [socket, onward],
          [onward, socket],
        ] as const) {
          sockets.add(from);
          from.pipe(to);
          from.on('error', () => to.destroy());
          // What came last, such as why it was ended, is still to be handed on.
          from.on('close', () => {
            sockets.delete(from);
            to.end();
          });
        }
      });
      servers.push(server);
      server.listen(0, here);
      await once(server, 'listening');
      return { host: here, port: (server.address() as { port: number }).port };
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
      for (let host = 0; host < count; host += 1) ip('netns', 'del', `${name}n${host}`);
      ip('link', 'del', bridge);
    },
  };
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
