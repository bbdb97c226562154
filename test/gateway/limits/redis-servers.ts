import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { freePorts, until } from '../../needs.js';

export const REDIS_URL = process.env.TEST_REDIS_URL ?? 'redis://127.0.0.1:6379';

/** A start of keys that no other run has. */
export function freshPrefix(): string {
  return `hg-test-${randomBytes(6).toString('hex')}:`;
}

export async function withClient<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const once = { retryStrategy: () => null, maxRetriesPerRequest: 0 };
  const client = new Redis(url, { ...once, connectTimeout: 20_000 });
  client.on('error', () => {});
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

export function answers(url: string): Promise<boolean> {
  return withClient(url, (client) => client.ping()).then(Boolean, () => false);
}

/** Deletes every key that begins with the prefix, as a Redis does that lost its memory. */
export function forget(url: string, prefix: string): Promise<void> {
  return withClient(url, async (client) => {
    const keys = await client.keys(`${prefix}*`);
    if (keys.length > 0) await client.del(keys);
  });
}

/** A Redis server of a test's own, without anything on disk. */
export type OwnRedis = NonNullable<Awaited<ReturnType<typeof createOwnRedis>>>;

/** Undefined where there is no `redis-server` to run. */
export async function createOwnRedis() {
  const [port] = await freePorts(1);
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    child = spawn('redis-server', options, { stdio: 'ignore' });
    await once(child, 'spawn');
    await until(() => answers(url));
  }

  async function kill(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  try {
    await start();
  } catch {
    return undefined;
  }
  return {
    url,
    start,
    /** Ends at once, like a crash. */
    kill,
    /** Hangs: connections stay open and nothing is answered. */
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  };
}
