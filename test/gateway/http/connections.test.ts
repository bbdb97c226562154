import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { words } from '../../examples.js';
import { shareGateway, startTestGateway, type TestGateway } from '../harness.js';
import { open, sendAllThenRead, statusOf } from '../raw-client.js';

/** Opens a connection and gathers what comes back. */
function connectTo(url: string) {
  const got = { text: '' };
  const socket = open(url);
  socket.on('data', (data) => (got.text += data)).on('error', () => undefined);
  return { socket, got };
}

describe('the HTTP server', () => {
  const large = 12 * 1024 * 1024;
  let api: TestGateway;
  before(async () => {
    ({ api } = await shareGateway());
  });

  /** Sends a request and `bytes` bytes of body before it reads. */
  async function exchange(head: string, bytes = 0) {
    const { status, error, text } = await sendAllThenRead(api.url, head, bytes);
    const [headers = '', body = ''] = text.split('\r\n\r\n');
    return { status, error, headers, json: body.startsWith('{') ? JSON.parse(body) : undefined };
  }

  const length = `Content-Length: ${large}`;
  const text = '/text/remove-stopwords';
  const toText = (version: string) => `POST ${text}?ak=KEY ${version}\r\nContent-Type: application/json\r\n`;
  const upload = (query = '') =>
    `POST /media/add-border${query} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=q\r\n${length}`;
  const chunked = `${toText('HTTP/1.1')}Host: x\r\n`;
  const probe = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
  const refused: Record<string, [status: number, code: string | undefined, head: string]> = {
    'on a connection that may stay': [401, 'key_missing', upload()],
    'on a connection that it wants closed': [413, 'too_large', `${upload('?ak=KEY')}\r\nConnection: close`],
    'by HTTP/1.0': [413, 'too_large', toText('HTTP/1.0') + length],
    'for what is not HTTP': [400, 'bad_request', 'nonsense'],
    'for headers that are too large': [431, 'headers_too_large', `GET /?${'x'.repeat(20_000)} HTTP/1.1`],
    'for chunks that are none': [400, 'bad_request', `${chunked}Transfer-Encoding: chunked`],
    'for two hosts': [400, 'bad_request', `POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n${length}`],
    'for a tunnel': [405, 'method_not_allowed', 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443'],
    'not at all, for an unasked body': [200, undefined, `${probe}Connection: close\r\n${length}`],
  };
  for (const [name, [status, code, head]] of Object.entries(refused))
    it(`lets a client that is refused while it sends read its answer, ${name}`, async () => {
      const answer = await exchange(`${head.replace('KEY', api.key)}\r\n\r\n`, large);
      expect([answer.status, answer.error]).to.deep.equal([status, undefined]);
      expect(answer.json.error?.code).to.equal(code);
      if (status === 405) expect(answer.headers).to.match(/allow: GET/);
    });

  it('drops a bounded part of what they send in each iteration of the event loop, and serves others', async function () {
    this.timeout(30_000);
    const senders = 16;
    const sockets: Socket[] = [];
    const note = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
    subscribe('net.server.socket', note);
    let [sending, read, most] = [true, 0, 0];
    setImmediate(function count() {
      const now = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
      most = Math.max(most, now - read);
      read = now;
      if (sending) setImmediate(count);
    });
    const sent = Promise.all(Array.from({ length: senders }, () => exchange(`${upload()}\r\n\r\n`, large)));
    sent.finally(() => (sending = false));
    let answered = 0;
    for (; sending; answered += 1) expect((await fetch(`${api.url}/healthz`)).status).to.equal(200);
    unsubscribe('net.server.socket', note);
    for (const { status } of await sent) expect(status).to.equal(401);
    expect(read).to.be.above(senders * large);
    // Two megabytes, and of each sender what it gave before it was stopped.
    expect(most).to.be.below(12 * 1024 * 1024);
    // So there are many iterations, of which a call takes three.
    expect(answered).to.be.above(10);
  });

  it('lives on after targets that Node cannot parse', async () => {
    const targets = words`
      http://x:99999/nowhere http:// http://[/nowhere //a@b# //a@b:99999/# a:b /%zz
    `.concat('/a\xa0b');
    const answers = await Promise.all(
      targets.map((target) => exchange(`GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`)),
    );
    for (const [at, { status, json }] of answers.entries())
      expect([[400, 404].includes(status), json.ok], targets[at]).to.deep.equal([true, false]);
    expect((await fetch(`${api.url}/healthz`)).status).to.equal(200);
  });

  const absolute = `http://any.example${text}?text=the+cat&ak=KEY#x`;
  const answered: Record<string, [head: string, json: RegExp]> = {
    'the absolute form': [`GET ${absolute} HTTP/1.1\r\nhost: x`, /"data":{"text":" cat"}/],
    'an Expect that it does not know': [`${probe}expect: wonders`, /"data":{"status":"alive"}/],
    'a request without Host': ['GET /healthz HTTP/1.1', /"ok":false.*"code":"bad_request"/],
    'an address that is not ASCII': [
      'GET /?a=caf\xc3\xa9 HTTP/1.1\r\nhost: x',
      /"bad_request".*percent-encode/,
    ],
    'what is no request': ['nonsense', /"ok":false.*"service":null.*"dryrun":false/],
  };
  for (const [name, [head, expected]] of Object.entries(answered))
    it(`answers ${name} with JSON and an id`, async () => {
      const { headers, json } = await exchange(`${head.replace('KEY', api.key).trim()}\r\n\r\n`);
      expect(JSON.stringify(json)).to.match(expected);
      expect(headers).to.match(/application\/json/);
      expect(headers).to.include(json.meta.request_id);
    });

  it('keeps idle connections for longer than balancers do, and says so', async () => {
    const { headers } = await fetch(`${api.url}/healthz`);
    expect(headers.get('keep-alive')).to.equal('timeout=75');
  });

  it('asks for a body that waits for 100-continue only once the key is known', async () => {
    const post = (query: string) =>
      exchange(
        `POST ${text}${query} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
      );
    expect((await post('')).status).to.equal(401);
    expect((await post(`?ak=${api.key}`)).status).to.equal(100);
  });

  it('leaves nothing behind on a connection that stays', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<Socket>();
    const refuse = () =>
      new Promise<number | undefined>((resolve, reject) => {
        const call = request(`${api.url}${text}`, { agent, method: 'POST' }, (answer) => {
          answer.resume().once('end', () => resolve(answer.statusCode));
        });
        call.once('socket', (socket) => sockets.add(socket)).once('error', reject);
        call.end('x'.repeat(50_000));
      });
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    try {
      for (let time = 0; time < 40; time += 1) expect(await refuse()).to.equal(401);
      // Warnings come in a later iteration.
      await new Promise(setImmediate);
    } finally {
      process.off('warning', note);
      agent.destroy();
    }
    expect(sockets.size).to.be.below(10);
    // Of listeners that were left on a socket.
    expect(warnings.filter(({ name }) => name === 'MaxListenersExceededWarning')).to.deep.equal([]);
  });

  it('ends its side behind the answer at once, and cuts off a client that goes on for too long', async () => {
    const { socket, got } = connectTo(api.url);
    socket.write(
      'POST /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    await once(socket, 'end');
    expect(statusOf(got.text)).to.equal(404);
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

  it('answers once, where a body breaks after the answer', async () => {
    const { socket, got } = connectTo(api.url);
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    await once(socket, 'data');
    socket.write('no chunk\r\n');
    await once(socket, 'end');
    expect(got.text.match(/HTTP\/1\.1 /g)).to.have.length(1);
    socket.destroy();
  });

  it('answers a call before the nonsense behind it', async () => {
    const { socket, got } = connectTo(api.url);
    const call = `GET /text/diff-two-strings?a=1&b=2&ak=${api.key} HTTP/1.1\r\nHost: x\r\n\r\n`;
    socket.write(`${call}nonsense\r\n\r\n`);
    await once(socket, 'end');
    expect(got.text.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 200', 'HTTP/1.1 400']);
    socket.destroy();
  });
});

describe('shutting down', () => {
  it('waits neither for connections without a request nor for those it has answered, and finishes a call', async () => {
    const api = await startTestGateway();
    const [unused, answered, underWay] = [connectTo(api.url), connectTo(api.url), connectTo(api.url)];
    answered.socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(answered.socket, 'data');
    const body = '{"text":"the words"}';
    underWay.socket.write(
      `POST /text/remove-stopwords?ak=${api.key} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    await once(underWay.socket, 'data');
    expect(statusOf(underWay.got.text)).to.equal(100);

    const closing = api.close();
    await Promise.all([unused, answered].map(({ socket }) => once(socket, 'end')));
    underWay.socket.write(body);
    await once(underWay.socket, 'end');
    expect(underWay.got.text).to.match(/\r\n\r\nHTTP\/1\.1 200 [\s\S]*connection: close/i);
    for (const { socket } of [unused, answered, underWay]) socket.end();
    await closing;
    expect(await fetch(`${api.url}/healthz`).catch(() => 'refused')).to.equal('refused');
  });
});
