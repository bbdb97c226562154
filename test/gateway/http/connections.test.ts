import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { createDiscard } from '../../../gateway/http/connections.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { open, sendAllThenRead, statusOf } from '../raw-client.js';

describe('a client that is refused while it sends', () => {
  const bytes = 12 * 1024 * 1024;
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway();
  });
  after(() => api.close());

  const length = `Content-Length: ${bytes}\r\n`;
  const upload = 'Content-Type: multipart/form-data; boundary=q\r\n';
  const json = 'Content-Type: application/json\r\n';
  const heads: [string, number, (key: string) => string][] = [
    [
      'on a connection that may stay',
      401,
      () => `POST /media/add-border HTTP/1.1\r\nHost: x\r\n${upload}${length}\r\n`,
    ],
    [
      'on a connection that it wants closed',
      413,
      (key) =>
        `POST /media/add-border?ak=${key} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${upload}${length}\r\n`,
    ],
    ['by HTTP/1.0', 413, (key) => `POST /text/remove-stopwords?ak=${key} HTTP/1.0\r\n${json}${length}\r\n`],
    ['for what is not HTTP', 400, () => 'nonsense\r\n\r\n'],
    ['for a header that is too large', 431, () => `GET /?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    [
      'for chunks that are none',
      400,
      (key) =>
        `POST /text/remove-stopwords?ak=${key} HTTP/1.1\r\nHost: x\r\n${json}Transfer-Encoding: chunked\r\n\r\n`,
    ],
    ['for two hosts', 400, () => `POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n${length}\r\n`],
    ['for a tunnel', 405, () => 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n'],
    [
      'not at all, for a body that nobody asked for',
      200,
      () => `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${length}\r\n`,
    ],
  ];
  for (const [name, status, head] of heads) {
    it(`reads its answer, ${name}`, async () => {
      const answer = await sendAllThenRead(api.url, head(api.key), bytes);
      expect([answer.status, answer.error]).to.deep.equal([status, undefined]);
    });
  }

  it('leaves nothing behind on a connection that stays', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<Socket>();
    const refused = () =>
      new Promise<number | undefined>((resolve, reject) => {
        const call = request(`${api.url}/text/remove-stopwords`, { agent, method: 'POST' }, (answer) => {
          answer.resume().once('end', () => resolve(answer.statusCode));
        });
        call.once('socket', (socket) => sockets.add(socket)).once('error', reject);
        call.end('x'.repeat(50_000));
      });
    const warnings: Error[] = [];
    const keep = (warning: Error) => warnings.push(warning);
    process.on('warning', keep);
    try {
      for (let time = 0; time < 40; time += 1) expect(await refused()).to.equal(401);
      // Warnings are told of in a later turn.
      await new Promise(setImmediate);
    } finally {
      process.off('warning', keep);
      agent.destroy();
    }
    expect(sockets.size).to.be.below(10);
    // Of listeners that were left on a socket.
    expect(warnings.filter(({ name }) => name === 'MaxListenersExceededWarning').map(String)).to.deep.equal(
      [],
    );
  });

  it('sees the end behind the answer at once, and is cut off where it goes on for too long', async () => {
    const socket = open(api.url);
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.on('error', () => undefined);
    socket.write(
      'POST /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    await once(socket, 'end');
    expect(statusOf(text)).to.equal(404);
    const sent = 'x'.repeat(1024 * 1024);
    let megabytes = 0;
    // Far more than the socket buffers of both sides hold.
    while (!socket.destroyed && megabytes < 200) {
      megabytes += 1;
      const chunk = `${sent.length.toString(16)}\r\n${sent}\r\n`;
      await new Promise<unknown>((written) => socket.write(chunk, written));
    }
    expect(megabytes).to.be.within(60, 150);
  });

  it('is answered once, where its body breaks after the answer', async () => {
    const socket = open(api.url);
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    await once(socket, 'data');
    socket.write('no chunk\r\n');
    await once(socket, 'end');
    expect(text.match(/HTTP\/1\.1 /g)).to.have.length(1);
    socket.destroy();
  });

  it('gets the answer of its call before that of the nonsense behind it', async () => {
    const socket = open(api.url);
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    const call = `GET /text/diff-two-strings?a=1&b=2&ak=${api.key} HTTP/1.1\r\nHost: x\r\n\r\n`;
    socket.write(`${call}nonsense\r\n\r\n`);
    await once(socket, 'end');
    expect(text.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 200', 'HTTP/1.1 400']);
    socket.destroy();
  });
});

describe('createDiscard', () => {
  it('drops a bounded number of bytes in a turn of the event loop, however many streams give some', async () => {
    const discard = createDiscard();
    const chunk = Buffer.alloc(64 * 1024);
    const chunks = 16;
    let [now, most, all, ended] = [0, 0, 0, 0];
    const streams = Array.from({ length: 60 }, () => Readable.from(Array(chunks).fill(chunk)));
    const ends = streams.map((stream) => {
      discard(stream, (bytes) => {
        now += bytes;
      });
      return new Promise((resolve) => stream.once('end', resolve)).then(() => (ended += 1));
    });
    while (ended < streams.length) {
      await new Promise(setImmediate);
      most = Math.max(most, now);
      all += now;
      now = 0;
    }
    await Promise.all(ends);
    expect(all).to.equal(streams.length * chunks * chunk.length);
    // Two megabytes, and a chunk or two of each stream before it was stopped.
    expect(most).to.be.within(chunk.length, 12 * 1024 * 1024);
  });
});
