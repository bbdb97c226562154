import { Redis } from 'ioredis';

export interface RedisOptions {
  /** `redis://` or `rediss://`. */
  url: string;
  commandTimeoutMs: number;
  /** What a start waits for the first connection. Without one it goes on, and the client connects later. */
  firstConnectionMs: number;
  /** The client's name in Redis' own lists. */
  name?: string;
}

/** A client that connects for as long as it is not closed: no command waits for a connection, and none is sent twice. */
export interface RedisConnection {
  client: Redis;
  /** Resolves at the first connection, or without one. */
  connected: Promise<void>;
  /** Why the connection was lost last, in the driver's words. */
  reason(): string | undefined;
}

/** The one place that connects to Redis. It uses ioredis, which BullMQ and the limiter library both accept. */
export function connectRedis({
  url,
  commandTimeoutMs,
  firstConnectionMs,
  name,
}: RedisOptions): RedisConnection {
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
  const connected = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, firstConnectionMs);
    for (const event of ['ready', 'error']) {
      client.once(event, () => {
        clearTimeout(timer);
        resolve();
      });
    }
  });
  return { client, connected, reason: () => reason };
}

export function redisReason(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
}
