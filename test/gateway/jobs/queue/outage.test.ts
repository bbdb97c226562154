import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import type { JobQueue } from '../../../../gateway/jobs/queue/job-queue.js';
import { openPostgresQueue } from '../../../../gateway/jobs/queue/postgres-queue.js';
import { openRedisQueue } from '../../../../gateway/jobs/queue/redis-queue.js';
import { skipWithout, until } from '../../../needs.js';
import { createPostgresDatabase, requirePostgres } from '../../databases.js';
import { createOwnRedis, freshPrefix, type OwnRedis } from '../../limits/redis-servers.js';
import { recorder } from './queues.js';

describe('job queue, while what it is kept in is away', () => {
  describe('on Redis', () => {
    let redis: OwnRedis;
    let queue: JobQueue;
    const log = recorder();
    const options = () => ({
      url: redis.url,
      prefix: freshPrefix().slice(0, -1),
      logger: log.logger,
      commandTimeoutMs: 200,
    });
    before(async function () {
      redis = (await createOwnRedis()) ?? skipWithout(this, 'redis-server');
    });
    beforeEach(log.clear);
    afterEach(() => queue.close());
    after(() => redis?.kill());

    it('rejects at once, says so once, and goes on by itself, even with a Redis that knows nothing', async () => {
      queue = await openRedisQueue(options());
      await queue.add('acme', [{ job: 'job_a', index: 0 }]);
      await redis.kill();
      await rejects(queue);
      await rejects(queue);
      await redis.start();
      await until(() => works(queue));
      expect(log.lines()).to.deep.equal(['Redis cannot be used: jobs wait', 'Redis is back: jobs go on']);
    });

    it('opens without Redis, and is there when Redis is', async () => {
      await redis.kill();
      queue = await openRedisQueue(options());
      await rejects(queue);
      await redis.start();
      await until(() => works(queue));
    });

    it('does not wait for a Redis that hangs', async () => {
      queue = await openRedisQueue(options());
      redis.pause();
      await rejects(queue);
      redis.resume();
      await until(() => works(queue));
    });
  });

  describe('on PostgreSQL', () => {
    before(requirePostgres);

    it('rejects, and goes on by itself', async () => {
      const database = await createPostgresDatabase();
      const url = new URL(database.location);
      const proxy = await startProxy(url.hostname, Number(url.port || 5432));
      url.hostname = '127.0.0.1';
      url.port = String(proxy.port);
      const queue = await openPostgresQueue({ url: url.href, logger: recorder().logger });
      try {
        expect(await works(queue)).to.equal(true);
        proxy.stop();
        await rejects(queue);
        await rejects(queue);
        await proxy.start();
        await until(() => works(queue));
      } finally {
        await queue.close();
        proxy.stop();
        await database.drop();
      }
    });
  });
});

/** Every method rejects with an error that says to try again later. */
async function rejects(queue: JobQueue): Promise<void> {
  const lease = { tenant: 'acme', job: 'job_a', index: 0, token: 'none' };
  const asked = [
    queue.add('acme', [lease]),
    queue.lease('acme', 3),
    queue.extend([lease]),
    queue.done([lease]),
    queue.release([lease]),
    queue.release([lease], 10),
    queue.recover('acme'),
    queue.remove('acme', [lease]),
  ];
  for (const answer of await Promise.allSettled(asked)) {
    expect(answer).to.have.nested.property('reason.code', 'storage_unavailable');
  }
}

/** Whether an item goes in and out. */
async function works(queue: JobQueue): Promise<boolean> {
  try {
    await queue.add('zeta', [{ job: 'job_z', index: 0 }]);
    const leases = await queue.lease('zeta', 1);
    await queue.done(leases);
    return leases.length === 1;
  } catch {
    return false;
  }
}

/** A way to a server that can be cut. */
async function startProxy(host: string, port: number) {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let own = 0;
  async function start(): Promise<void> {
    server = createServer((from) => {
      const to = connect(port, host);
      for (const socket of [from, to]) {
        sockets.add(socket);
        socket.on('error', () => {}).on('close', () => sockets.delete(socket));
      }
      from.pipe(to).pipe(from);
    }).listen(own, '127.0.0.1');
    await once(server, 'listening');
    own = (server.address() as { port: number }).port;
  }
  await start();
  return {
    port: own,
    start,
    stop() {
      server?.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
