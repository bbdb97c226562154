import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { pieceBytes, sendInPieces } from '../../../../gateway/http/flow/pieces.js';
import { until } from '../../../until.js';

/** Bytes of which no piece is like another. */
function numbered(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(at, at);
  return bytes;
}

describe('sendInPieces', () => {
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
      sendInPieces(response, body, (bytes) => {
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
    for (const length of [pieceBytes + 1, 2 * pieceBytes, 3 * pieceBytes - 1, 40 * pieceBytes + 7]) {
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
    expect(response.writableLength).to.be.within(1, pieceBytes + 1024);
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
    expect(taken).to.be.within(length - 17 * pieceBytes, length);
  });

  it('keeps answers apart that are asked for one behind another', async () => {
    bodies.set('/1', Buffer.alloc(9 * pieceBytes, '~')).set('/2', Buffer.alloc(30 * pieceBytes, '^'));
    const client = await ask('/1', '/2', '/1');
    const chunks: Buffer[] = [];
    client.on('data', (data) => chunks.push(data));
    client.resume();
    await until(() => responses.length === 3 && responses.every((each) => each.writableFinished));
    const whole = () =>
      Buffer.concat(chunks)
        .toString('latin1')
        .split(/HTTP\/1\.1[^~^]*/);
    await until(() => (whole()[3] ?? '').length === 9 * pieceBytes);
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
