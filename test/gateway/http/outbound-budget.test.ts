import { EventEmitter, once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { chunkBytes, createOutboundBudget, sendInChunks } from '../../../gateway/http/outbound-budget.js';
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
  let budget: ReturnType<typeof createOutboundBudget>;

  function send(tenant: string, bytes: number, response = new Response()) {
    return { response, ...budget.track(response as unknown as ServerResponse, tenant, bytes) };
  }
  const sendSmall = (response: Response) =>
    budget.trackSmall(response as unknown as ServerResponse, 'a', 500);

  beforeEach(() => {
    now = 0;
    rooms = [];
    const onRoom = (tenant: string) => rooms.push(tenant);
    budget = createOutboundBudget({ bytes: 1000, onRoom, now: () => now });
  });
  afterEach(() => budget.close());

  it("holds a tenant's work at half of the whole until an answer has been read", () => {
    const { response } = send('a', 500);
    expect(['a', 'b'].map(budget.backlog)).to.deep.equal(['own', undefined]);
    response.emit('close');
    expect(budget.backlog('a')).to.equal(undefined);
    expect(rooms).to.deep.equal(['a']);
  });

  it('counts a small answer only where it is not out at the end of the iteration', async () => {
    const [accepted, held] = [new Response(), new Response()];
    for (const response of [accepted, held]) sendSmall(response);
    accepted.writableFinished = true;
    expect(budget.stats().bytes).to.equal(0);
    await new Promise(setImmediate);
    expect([budget.stats().bytes, budget.backlog('a')]).to.deep.equal([500, 'own']);
    held.emit('close');
    expect(budget.stats().bytes).to.equal(0);
  });

  it('does not count an answer whose client has gone before it was made', async () => {
    const response = new Response();
    response.destroy();
    send('a', 500, response).sent(500);
    sendSmall(response);
    await new Promise(setImmediate);
    expect([budget.backlog('a'), budget.stats().bytes]).to.deep.equal([undefined, 0]);
  });

  it('holds everybody past the whole but those of whom nothing is unread', () => {
    send('a', 900);
    send('b', 100);
    expect(['a', 'b', 'c'].map(budget.backlog)).to.deep.equal(['own', 'all', undefined]);
  });

  it('gives an answer up where the client reads nothing, not where it is slow', async () => {
    const [silent, slow] = [send('a', 400), send('a', 400)];
    now = 8000;
    slow.sent(64 * 1024);
    now = 9001;
    await until(() => silent.response.destroyed);
    expect([slow.response.destroyed, budget.stats().bytes]).to.deep.equal([false, 400]);
  });

  it('gives none up while the client waits for the gateway, and leaves it all its time after that', async () => {
    const [silent, waiting] = [send('a', 100), send('a', 100)];
    waiting.waits(true);
    now = 9001;
    await until(() => silent.response.destroyed);
    waiting.waits(false);
    now = 18_000;
    const next = send('a', 100);
    await sleep(120);
    expect([waiting.response.destroyed, next.response.destroyed]).to.deep.equal([false, false]);
    now = 18_003;
    await until(() => waiting.response.destroyed);
  });

  it('gives none up for the answer before it on its connection', async () => {
    const queued = new Response();
    queued.socket = null;
    const first = send('a', 100);
    send('a', 100, queued);
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

  it('gives each up after two minutes, however well it is read', async () => {
    const { response, sent } = send('a', 400);
    now = 120_001;
    sent(1e9);
    await until(() => response.destroyed);
  });
});

/** Bytes of which no chunk is like another. */
function numbered(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(at, at);
  return bytes;
}

describe('sendInChunks', () => {
  let server: Server;
  let port: number;
  let client: Socket | undefined;
  let responses: ServerResponse[];
  let sent: number;
  const bodies = new Map<string, Buffer>();

  beforeEach(async () => {
    [responses, sent] = [[], 0];
    server = createServer(({ url = '' }, response) => {
      const body = bodies.get(url) as Buffer;
      response.setHeader('content-length', body.length);
      responses.push(response);
      sendInChunks(response, { first: body }, { sent: (bytes) => (sent += bytes), waits: () => undefined });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(() => {
    client?.destroy();
    server.closeAllConnections();
    server.close();
  });

  /** Requests these, one behind another, and reads nothing. */
  async function ask(...paths: string[]) {
    client = connect({ port, host: '127.0.0.1' }).pause();
    client.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
    return { client, response: await until(() => responses[0]) };
  }

  it('gives up where what was stored is gone', async () => {
    const stored = { size: 2 * chunkBytes, read: async () => Buffer.alloc(0) };
    const track = { sent: () => undefined, waits: () => undefined };
    const response = { destroyed: false } as ServerResponse;
    const error = await sendInChunks(response, { stored, first: Buffer.alloc(0) }, track).catch(
      (thrown) => thrown,
    );
    expect(error.message).to.include('has become shorter');
  });

  it('gives every byte once', async () => {
    for (const length of [chunkBytes + 1, 2 * chunkBytes, 3 * chunkBytes - 1, 40 * chunkBytes + 7]) {
      bodies.set('/whole', numbered(length));
      const answer = await fetch(`http://127.0.0.1:${port}/whole`);
      expect(Buffer.from(await answer.arrayBuffer()).equals(numbered(length))).to.equal(true);
    }
  });

  it('reports what a slow client has read while it reads, and holds no more than a chunk for it', async () => {
    const length = 64 * 1024 * 1024;
    bodies.set('/large', numbered(length));
    const { client, response } = await ask('/large');
    await until(() => response.listenerCount('drain') > 0);
    const before = sent;
    expect(before).to.be.below(length / 2);
    expect(response.writableLength).to.be.within(1, chunkBytes + 1024);
    let read = 0;
    client.on('data', (data) => {
      read += data.length;
      if (read > length / 2) client.pause();
    });
    client.resume();
    await until(() => sent > before);
    expect(response.writableFinished).to.equal(false);
    client.removeAllListeners('data').resume();
    await until(() => response.writableFinished);
    expect(sent).to.be.within(length - 17 * chunkBytes, length);
  });

  it('keeps answers apart that are requested one behind another', async () => {
    bodies.set('/1', Buffer.alloc(9 * chunkBytes, '~')).set('/2', Buffer.alloc(30 * chunkBytes, '^'));
    const { client } = await ask('/1', '/2', '/1');
    let text = '';
    client.on('data', (data) => (text += data.toString('latin1'))).resume();
    const whole = () => text.split(/HTTP\/1\.1[^~^]*/).slice(1);
    await until(() => (whole()[2] ?? '').length === 9 * chunkBytes);
    const wanted = ['/1', '/2', '/1'].map((path) => String(bodies.get(path)));
    expect(whole().map((body, at) => body === wanted[at])).to.deep.equal([true, true, true]);
  });

  it('ends with its client', async () => {
    bodies.set('/left', numbered(64 * 1024 * 1024));
    const { client, response } = await ask('/left');
    await until(() => response.listenerCount('drain') > 0);
    client.destroy();
    await until(() => response.destroyed);
    expect(response.writableFinished).to.equal(false);
  });
});
