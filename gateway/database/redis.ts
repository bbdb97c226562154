import { Redis } from 'ioredis';

interface RedisOptions {
  /** `redis://` or `rediss://`. */
  url: string;
  commandTimeoutMs: number;
  /** What a start waits for the first connection. Without one it goes on, and the client connects later. */
  firstConnectionMs: number;
  /** The client's name in Redis' own lists. */
  name?: string;
}

export type RedisConnection = ReturnType<typeof connectRedis>;

/** Connects by ioredis until it is closed: no command waits for a connection, and none is sent twice. */
export function connectRedis({ url, commandTimeoutMs, firstConnectionMs, name }: RedisOptions) {
  const client = new Redis(url, {
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2_000,
    // A command that waits for a connection would hold its request; one that is sent again might count twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 500,
    // The server has become a replica: its name may lead to another one by now.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...(name === undefined ? {} : { connectionName: name }),
  });
  let reason: string | undefined;
  client.on('error', (error: NodeJS.ErrnoException) => {
    reason = redisReason(error);
  });
  /** Resolves at the first connection, or without one. */
  const connected = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, firstConnectionMs);
    for (const event of ['ready', 'error']) {
      client.once(event, () => {
        clearTimeout(timer);
        resolve();
      });
    }
  });
  /** `reason`: why the connection was lost last, in the driver's words. */
  return { client, connected, reason: () => reason };
}

export function redisReason(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
}
