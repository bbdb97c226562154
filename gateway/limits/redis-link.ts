import { Redis } from 'ioredis';
import type { Logger } from 'pino';

/** A Redis that may go away and come back. */
export interface RedisLink {
  readonly client: Redis;
  /** Runs an operation. Undefined where Redis cannot be used: the caller goes on without it. */
  run<T>(operation: () => Promise<T>): Promise<T | undefined>;
  close(): void;
}

export interface RedisLinkOptions {
  /** `redis://` or `rediss://`. */
  url: string;
  prefix: string;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds that one command may take; default 200. */
  commandTimeoutMs?: number | undefined;
  /** Milliseconds between two looks whether Redis is back; default 500. */
  retryMs?: number;
}

// A connection that is open but dead is opened again after so many looks in vain.
const looksBeforeReconnect = 10;

function reasonOf(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error);
}

function connect({ url, commandTimeoutMs = 200, retryMs = 500 }: RedisLinkOptions): Redis {
  return new Redis(url, {
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2000,
    // A command that waits for a connection would hold its request; one that is sent again might count twice.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => retryMs,
  });
}

/**
 * Connects, and waits for the first connection as long as two commands may take. After a failed operation Redis is
 * asked by itself before it counts as down, since a gateway that was busy for a moment sees time-outs too; while it
 * is down no request waits for it. Each outage is logged once, and once its end.
 */
export async function createRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const { prefix, logger, commandTimeoutMs = 200, retryMs = 500 } = options;
  const client = connect(options);
  let state: 'up' | 'suspect' | 'down' = 'suspect';
  let closed = false;
  let lastError: unknown;
  let looking = false;
  let looksInVain = 0;
  let timer: NodeJS.Timeout | undefined;

  client.on('error', (error) => {
    lastError = error;
  });

  function foundUp(): void {
    if (state === 'down') logger.info({}, 'Redis is back: limits are shared again');
    state = 'up';
    looksInVain = 0;
  }

  function foundDown(error: unknown): void {
    if (state !== 'down') {
      const reason = reasonOf(client.status === 'ready' ? error : (lastError ?? error));
      logger.warn({ reason }, 'Redis cannot be used: this gateway limits by itself, at a reduced share');
    }
    state = 'down';
    looksInVain += 1;
    const open = client.status === 'ready' || client.status === 'connect';
    if (open && looksInVain % looksBeforeReconnect === 0) client.disconnect(true);
    timer = setTimeout(look, retryMs);
    timer.unref();
  }

  // Writes, since a Redis that only reads (a replica, a full one) is of no use here.
  async function look(): Promise<void> {
    if (looking || closed) return;
    looking = true;
    try {
      await client.set(`${prefix}probe`, 1, 'PX', 1000);
      if (!closed) foundUp();
    } catch (error) {
      if (!closed) foundDown(error);
    } finally {
      looking = false;
    }
  }

  await new Promise<void>((resolve) => {
    const giveUp = setTimeout(resolve, 2 * commandTimeoutMs);
    const connected = () => {
      clearTimeout(giveUp);
      resolve();
    };
    client.once('ready', connected);
    client.once('error', connected);
  });
  await look();

  return {
    client,
    async run(operation) {
      if (state !== 'up' || closed) return undefined;
      try {
        return await operation();
      } catch {
        if (state === 'up') {
          state = 'suspect';
          void look();
        }
        return undefined;
      }
    },
    close() {
      closed = true;
      clearTimeout(timer);
      client.disconnect();
    },
  };
}
