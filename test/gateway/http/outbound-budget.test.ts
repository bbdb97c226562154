import { EventEmitter, once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import {
  chunkBytes,
  createOutboundBudget,
  type OutboundBudget,
  sendInChunks,
} from '../../../gateway/http/outbound-budget.js';
import { until } from '../../needs.js';

/** A response as far as the budget needs one. */
class Response extends EventEmitter {
  destroyed = false;
  /** Null where the answer to an earlier request of the connection is still under way. */
  socket: object | null = {};
  writableFinished = false;
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

describe('the outbound budget', () => {
  let now = 0;
  let rooms: string[] = [];
  let outboundBudget: OutboundBudget;

  function send(tenant: string, bytes: number) {
    const response = new Response();
    return { response, ...outboundBudget.track(response as unknown as ServerResponse, tenant, bytes) };
  }

  beforeEach(() => {
    now = 0;
    rooms = [];
    outboundBudget = createOutboundBudget({
      bytes: 1000,
      onRoom: (tenant) => rooms.push(tenant),
      now: () => now,
    });
  });
  afterEach(() => outboundBudget.close());

  it('stop a tenant’s work at half of the budget until an answer is taken', () => {
    const { response } = send('a', 500);
    expect(outboundBudget.backlog('a')).to.equal('own');
    expect(outboundBudget.backlog('b')).to.equal(undefined);
    response.emit('close');
    expect(outboundBudget.backlog('a')).to.equal(undefined);
    expect(rooms).to.deep.equal(['a']);
  });

  it('count a small answer only where it is not out at the end of the turn', async () => {
    const [taken, held] = [new Response(), new Response()];
    for (const response of [taken, held]) {
      outboundBudget.trackSmall(response as unknown as ServerResponse, 'a', 500);
    }
    taken.writableFinished = true;
    expect(outboundBudget.stats().bytes).to.equal(0);
    await new Promise(setImmediate);
    expect(outboundBudget.stats().bytes).to.equal(500);
    expect(outboundBudget.backlog('a')).to.equal('own');
    held.emit('close');
    expect(outboundBudget.stats().bytes).to.equal(0);
  });

  it('do not count what nobody takes, for the client has gone before it was made', async () => {
    const response = new Response();
    response.destroy();
    outboundBudget.track(response as unknown as ServerResponse, 'a', 500).sent(500);
    outboundBudget.trackSmall(response as unknown as ServerResponse, 'a', 500);
    await new Promise(setImmediate);
    expect([outboundBudget.backlog('a'), outboundBudget.stats().bytes]).to.deep.equal([undefined, 0]);
  });

  it('past the whole stop everybody but who waits for nothing', () => {
    send('a', 900);
    send('b', 100);
    expect(['a', 'b', 'c'].map(outboundBudget.backlog)).to.deep.equal(['own', 'all', undefined]);
  });

  it('are given up where the client takes nothing, not where it takes its time', async () => {
    const silent = send('a', 400);
    const slow = send('a', 400);
    now = 8000;
    slow.sent(64 * 1024);
    now = 9001;
    await until(() => silent.response.destroyed);
    expect([silent.response.destroyed, slow.response.destroyed]).to.deep.equal([true, false]);
    expect(outboundBudget.stats().bytes).to.equal(400);
  });

  it('are not given up while the client waits for the gateway, and have all their time after that', async () => {
    const silent = send('a', 100);
    const waiting = send('a', 100);
    waiting.waits(true);
    now = 9001;
    await until(() => silent.response.destroyed);
    waiting.waits(false);
    now = 18_000;
    const next = send('a', 100);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect([waiting.response.destroyed, next.response.destroyed]).to.deep.equal([false, false]);
    now = 18_003;
    await until(() => waiting.response.destroyed);
  });

  it('wait as long as it takes for the answer before them on their connection', async () => {
    const [first, queued] = [send('a', 100), new Response()];
    queued.socket = null;
    outboundBudget.track(queued as unknown as ServerResponse, 'a', 100);
    now = 9001;
    await until(() => first.response.destroyed);
    expect(queued.destroyed).to.equal(false);
    queued.socket = {};
    queued.emit('socket');
    now = 18_001;
    const second = send('a', 100);
    now = 18_003;
    await until(() => queued.destroyed);
    expect(second.response.destroyed).to.equal(false);
  });

  it('are given up after two minutes, however well they go', async () => {
    const { response, sent } = send('a', 400);
    now = 120_001;
    sent(1e9);
    await until(() => response.destroyed);
  });
});

/** Bytes of which no piece is like another. */
function numbered(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(at, at);
  return bytes;
}

describe('sendInChunks', () => {
  let server: Server;
  let socket: Socket | undefined;
  let responses: ServerResponse[];
  let taken: number;
  const bodies = new Map<string, Buffer>();

  beforeEach(async () => {
    [responses, taken] = [[], 0];
    server = createServer((request, response) => {
      const body = bodies.get(request.url ?? '') as Buffer;
      response.setHeader('content-length', body.length);
      responses.push(response);
      sendInChunks(response, body, (bytes) => {
        taken += bytes;
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    socket?.destroy();
    server.closeAllConnections();
    server.close();
  });

  const urlOf = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;

  /** Asks for these, one behind another, and reads nothing. */
  async function ask(...paths: string[]): Promise<Socket> {
    socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).pause();
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
    await until(() => responses.length > 0);
    return socket;
  }

  it('gives every byte once', async () => {
    for (const length of [chunkBytes + 1, 2 * chunkBytes, 3 * chunkBytes - 1, 40 * chunkBytes + 7]) {
      bodies.set('/whole', numbered(length));
      const answer = await fetch(urlOf('/whole'));
      expect(Buffer.from(await answer.arrayBuffer()).equals(numbered(length))).to.equal(true);
    }
  });

  it('tells of what a slow client has taken while it takes it, and holds no more than a piece for it', async () => {
    const length = 64 * 1024 * 1024;
    bodies.set('/large', numbered(length));
    const client = await ask('/large');
    const [response] = responses as [ServerResponse];
    await until(() => response.listenerCount('drain') > 0);
    const before = taken;
    expect(before).to.be.below(length / 2);
    expect(response.writableLength).to.be.within(1, chunkBytes + 1024);
    let read = 0;
    client.on('data', (data) => {
      read += data.length;
      if (read > length / 2) client.pause();
    });
    client.resume();
    await until(() => taken > before);
    expect(response.writableFinished).to.equal(false);
    client.removeAllListeners('data').on('data', () => undefined);
    client.resume();
    await until(() => response.writableFinished);
    expect(taken).to.be.within(length - 17 * chunkBytes, length);
  });

  it('keeps answers apart that are asked for one behind another', async () => {
    bodies.set('/1', Buffer.alloc(9 * chunkBytes, '~')).set('/2', Buffer.alloc(30 * chunkBytes, '^'));
    const client = await ask('/1', '/2', '/1');
    const chunks: Buffer[] = [];
    client.on('data', (data) => chunks.push(data));
    client.resume();
    await until(() => responses.length === 3 && responses.every((each) => each.writableFinished));
    const whole = () =>
      Buffer.concat(chunks)
        .toString('latin1')
        .split(/HTTP\/1\.1[^~^]*/);
    await until(() => (whole()[3] ?? '').length === 9 * chunkBytes);
    const wanted = ['/1', '/2', '/1'].map((path) => (bodies.get(path) as Buffer).toString());
    expect(
      whole()
        .slice(1)
        .map((body, at) => body === wanted[at]),
    ).to.deep.equal([true, true, true]);
  });

  it('ends with its client', async () => {
    bodies.set('/left', numbered(64 * 1024 * 1024));
    const client = await ask('/left');
    const [response] = responses as [ServerResponse];
    await until(() => response.listenerCount('drain') > 0);
    client.destroy();
    await until(() => response.destroyed);
    expect(response.writableFinished).to.equal(false);
  });
});
