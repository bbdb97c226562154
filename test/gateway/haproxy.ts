import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** Debian puts it where only root's PATH leads. */
export const haproxy = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  .map((folder) => join(folder, 'haproxy'))
  .find(existsSync);

/** Ports that are free now, and that no system gives to who asks for any: those of Linux begin at 32768, of others higher. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(16_000, 32_000);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/** HAProxy before gateways. */
export interface Balancer {
  process: ChildProcess;
  /** Resolves once HAProxy itself takes the gateway at this place for ready. */
  ready(at: number): Promise<void>;
}

/** Runs HAProxy before gateways on these ports, with its own defaults but for times, and waits until all are ready to it. */
export async function startHaproxy({
  folder,
  port,
  gateways,
}: {
  folder: string;
  port: number;
  /** Their ports here, or host and port. */
  gateways: (number | string)[];
}): Promise<Balancer> {
  const stats = join(folder, 'haproxy.sock');
  const servers = gateways.map(
    (each, at) => `  server gateway${at} ${typeof each === 'number' ? `127.0.0.1:${each}` : each} check`,
  );
  const config = [
    'global',
    `  stats socket ${stats}`,
    'defaults',
    '  mode http',
    '  timeout connect 5s',
    '  timeout client 60s',
    '  timeout server 60s',
    // Else it is the interval between checks: a busy machine takes longer to answer one.
    '  timeout check 5s',
    'frontend api',
    `  bind 127.0.0.1:${port}`,
    '  default_backend gateways',
    'backend gateways',
    '  balance roundrobin',
    '  option httpchk GET /readyz',
    // A call that could not even be handed over goes to another one.
    '  option redispatch 1',
    '  default-server inter 200ms fall 2 rise 1',
    ...servers,
    '',
  ];
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, config.join('\n'));
  const child = spawn(haproxy ?? 'haproxy', ['-db', '-q', '-f', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ready = async (at: number) => {
    const up = new RegExp(`^gateways,gateway${at},.*,UP,`, 'm');
    while (!up.test(await ask(stats, 'show stat'))) {
      const end = child.exitCode ?? child.signalCode;
      if (end !== null) throw new Error(`haproxy ended with ${end}`);
      await sleep(50);
    }
  };
  for (const at of gateways.keys()) await ready(at);
  return { process: child, ready };
}

/** What HAProxy answers on its socket; nothing before it listens there. */
async function ask(file: string, command: string): Promise<string> {
  try {
    const socket = connect(file);
    socket.end(`${command}\n`);
    return await text(socket);
  } catch {
    return '';
  }
}
