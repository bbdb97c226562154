import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import type { Call, Linger } from '../../../gateway/http/connections.js';
import {
  createFront,
  createLifecycle,
  createParserErrorHandler,
  listen,
  serveRoundRobin,
} from '../../../gateway/http/server.js';
import { until } from '../../needs.js';
import { rejection } from '../download/raw-server.js';
import { freePorts } from '../haproxy.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { open } from '../raw-client.js';

/** Has a connection written to and gives everything that came back, in both directions to the end. */
function exchange(url: string, write: (socket: Socket) => unknown): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => write(socket));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    socket.setTimeout(60_000, () => socket.destroy());
  });
}

/** Sends raw bytes and gives the answer's head and body. */
async function raw(url: string, text: string): Promise<{ head: string; body: string }> {
  const answer = await exchange(url, (socket) => socket.write(text, 'latin1'));
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return { head, body };
}

describe('the HTTP server', () => {
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway();
  });

  after(() => api.close());

  it('answers JSON to what is not HTTP', async () => {
    const { head, body } = await raw(api.url, 'nonsense\r\n\r\n');
    expect(head)
      .to.match(/^HTTP\/1\.1 400 /)
      .and.match(/application\/json/);
    const { ok, error, meta } = JSON.parse(body);
    expect([ok, error.code, meta.service, meta.dryrun]).to.deep.equal([false, 'bad_request', null, false]);
    expect(head).to.include(meta.request_id);
  });

  it('answers JSON to headers that are too large', async () => {
    const { head, body } = await raw(api.url, `GET /?${'x'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`);
    expect(head).to.match(/^HTTP\/1\.1 431 /);
    expect(JSON.parse(body).error.code).to.equal('headers_too_large');
  });

  it('answers a path that is not percent-encoded well', async () => {
    const { head } = await raw(api.url, 'GET /%zz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(head).to.match(/^HTTP\/1\.1 404 /);
  });

  it('lives on after targets that Node cannot parse', async () => {
    for (const target of [
      'http://x:99999/nowhere',
      'http://',
      'http://[/nowhere',
      '//a@b#',
      '//a@b:99999/#',
      '/a\xa0b',
      'a:b',
    ]) {
      const { head, body } = await raw(
        api.url,
        `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
      );
      expect(head, target).to.match(/^HTTP\/1\.1 40[04] /);
      expect(JSON.parse(body).ok).to.equal(false);
    }
    expect((await fetch(`${api.url}/healthz`)).status).to.equal(200);
  });

  it('takes the absolute form', async () => {
    const target = `http://any.example/text/remove-stopwords?text=the+cat&ak=${api.key}#x`;
    const { body } = await raw(api.url, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    expect(JSON.parse(body).data).to.deep.equal({ text: ' cat' });
  });

  it('says what to do about an address that is not percent-encoded', async () => {
    const { head, body } = await raw(api.url, 'GET /?a=caf\xc3\xa9 HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(head).to.match(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(body).error.message).to.include('percent-encode');
  });

  it('keeps idle connections for longer than balancers do, and says so', async () => {
    const { headers } = await fetch(`${api.url}/healthz`);
    expect(headers.get('keep-alive')).to.equal('timeout=75');
  });

  it('wants one Host header', async () => {
    for (const hosts of ['', 'host: a\r\nhost: b\r\n']) {
      const { head, body } = await raw(api.url, `GET /healthz HTTP/1.1\r\n${hosts}connection: close\r\n\r\n`);
      expect(head).to.match(/^HTTP\/1\.1 400 /);
      expect(JSON.parse(body).error.code).to.equal('bad_request');
    }
  });

  it('asks for a body that waits for 100-continue only once the key is known', async () => {
    const head = 'host: x\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 2\r\n';
    const path = '/text/remove-stopwords';
    const refused = await raw(api.url, `POST ${path} HTTP/1.1\r\n${head}\r\n`);
    expect(refused.head).to.match(/^HTTP\/1\.1 401 /);
    const asked = await raw(
      api.url,
      `POST ${path}?ak=${api.key} HTTP/1.1\r\nconnection: close\r\n${head}\r\n{}`,
    );
    expect(asked.head).to.match(/^HTTP\/1\.1 100 /);
  });

  it('answers CONNECT, which it does not take', async () => {
    const { head, body } = await raw(
      api.url,
      'CONNECT a.example:443 HTTP/1.1\r\nhost: a.example:443\r\n\r\n',
    );
    expect(head)
      .to.match(/^HTTP\/1\.1 405 /)
      .and.match(/allow: GET/);
    expect(JSON.parse(body).error.code).to.equal('method_not_allowed');
  });

  it('answers an Expect header that nobody understands', async () => {
    const { head, body } = await raw(
      api.url,
      'GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\nconnection: close\r\n\r\n',
    );
    expect(head).to.match(/^HTTP\/1\.1 200 /);
    expect(body).to.include('alive');
  });
});

describe('shutting down', () => {
  it('waits neither for connections that never asked anything nor for those it has answered, and finishes a call', async () => {
    const api = await startTestGateway();
    const unused = open(api.url);
    const answered = open(api.url);
    answered.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(answered, 'data');
    const body = '{"text":"the words"}';
    const underWay = open(api.url);
    underWay.write(
      `POST /text/remove-stopwords?ak=${api.key} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    const [goOn] = await once(underWay, 'data');
    expect(String(goOn)).to.match(/^HTTP\/1\.1 100 /);

    const closing = api.close();
    await Promise.all([unused, answered].map((socket) => once(socket.resume(), 'end')));
    let answer = '';
    underWay.on('data', (chunk) => {
      answer += chunk;
    });
    underWay.write(body);
    await once(underWay, 'end');
    expect(answer)
      .to.match(/^HTTP\/1\.1 200 /)
      .and.match(/connection: close/i);
    for (const socket of [unused, answered, underWay]) socket.end();
    await closing;
    expect(await fetch(`${api.url}/healthz`).catch(() => 'refused')).to.equal('refused');
  });
});

describe('listen', () => {
  it('gives the url of the port that was free', async () => {
    const server = createServer();
    const url = await listen(server, { host: '127.0.0.1', port: 0, variable: 'PORT' });
    expect(url).to.equal(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.close();
  });

  it('names the variable of a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    for (const variable of ['PORT', 'CONNECT_PORT']) {
      const error = await listen(createServer(), { host: '127.0.0.1', port, variable }).catch(
        (thrown) => thrown,
      );
      expect(error.message).to.equal(
        `Cannot listen on 127.0.0.1:${port}: something listens there already. Choose another port with ${variable}.`,
      );
    }
    other.close();
  });

  it('says that a machine has no such address', async () => {
    const error = await listen(createServer(), { host: '192.0.2.1', port: 0, variable: 'PORT' }).catch(
      (thrown) => thrown,
    );
    expect(error.message).to.equal('Cannot listen on 192.0.2.1:0: this machine has no such address.');
  });
});

describe('faults of connections', () => {
  const linger = { lastCall: () => undefined, end: () => undefined } as unknown as Linger;

  it('of thousands whose time is over at once are answered a few a turn, each once', async () => {
    const written: number[] = [];
    const answer = createParserErrorHandler(linger);
    const late = Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    const sockets = Array.from({ length: 1000 }, (_, at) => {
      const socket = { writable: true, on: () => socket, write: () => written.push(at) };
      return socket as unknown as Socket;
    });
    for (const socket of sockets) for (let times = 0; times < 2; times += 1) answer(late, socket);
    expect(written).to.have.length(0);
    let most = 0;
    for (let turns = 0; turns < 1000 && written.length < 1000; turns += 1) {
      const before = written.length;
      await nextTurn();
      most = Math.max(most, written.length - before);
    }
    expect(most).to.be.at.most(100);
    expect(written).to.deep.equal([...sockets.keys()]);
  });

  it('are none where what was late has come while this thread was busy', async () => {
    let call: Call | undefined;
    const answer = createParserErrorHandler({ ...linger, lastCall: () => call });
    const written: unknown[] = [];
    const socket = { writable: true, on: () => socket, write: (text: unknown) => written.push(text) };
    const late = Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    const tell = () => answer(late, socket as unknown as Socket);
    const callOf = (complete: boolean) => ({ request: { complete } }) as unknown as Call;

    tell();
    // Its head has been read now.
    call = callOf(false);
    await nextTurn();
    await nextTurn();
    expect(written).to.have.length(0);
    tell();
    // Its body has been read now.
    (call.request as { complete: boolean }).complete = true;
    await nextTurn();
    await nextTurn();
    expect(written).to.have.length(0);
    call = undefined;
    tell();
    await nextTurn();
    await nextTurn();
    expect(written).to.have.length(1);
  });
});

describe('serveRoundRobin', () => {
  function listen() {
    const begun: string[] = [];
    const begin = serveRoundRobin(({ url }) => void begun.push(url ?? ''));
    const ask = (url: string, destroyed = false, headers = {}) =>
      begin({ url, headers, socket: { destroyed } } as IncomingMessage, {} as ServerResponse);
    return { begun, ask };
  }

  async function quiet(begun: string[]): Promise<void> {
    for (let length = -1; length !== begun.length; await nextTurn()) {
      length = begun.length;
      await nextTurn();
    }
  }

  it('begins a few at once, the others in the turns that follow, all in their order', async () => {
    const { begun, ask } = listen();
    const urls = Array.from({ length: 200 }, (_, at) => `/${at}`);
    for (const url of urls) ask(url);
    expect(begun.length).to.be.within(1, 50);
    await quiet(begun);
    expect(begun).to.deep.equal(urls);
    ask('/later');
    expect(begun.at(-1)).to.equal('/later');
  });

  it('begins what comes with one key in turn with what comes with others, however it is sent', async () => {
    const { begun, ask } = listen();
    for (let at = 0; at < 200; at += 1) ask(`/flood/${at}?x=1&ak=noisy`);
    const others = ['/one?ak=quiet', '/two?kid=quiet&sig=x', '/three'];
    for (const url of others.slice(0, 2)) ask(url);
    ask('/three', false, { authorization: 'Bearer quiet' });
    const before = begun.length;
    await nextTurn();
    await nextTurn();
    expect(begun.slice(before, before + 20)).to.include.members(others);
    await quiet(begun);
    const flood = begun.filter((url) => url.startsWith('/flood'));
    expect(flood).to.deep.equal(flood.toSorted((a, b) => Number(/\d+/.exec(a)) - Number(/\d+/.exec(b))));
    expect(begun).to.have.length(203);
  });

  it('answers what asks for health at once', () => {
    const { begun, ask } = listen();
    for (let at = 0; at < 200; at += 1) ask('/x');
    ask('/healthz');
    ask('/readyz?x');
    expect(begun.slice(-2)).to.deep.equal(['/healthz', '/readyz?x']);
  });

  it('begins nothing for a client that has gone meanwhile', async () => {
    const { begun, ask } = listen();
    for (let at = 0; at < 100; at += 1) ask('/x');
    ask('/gone', true);
    await quiet(begun);
    expect(begun).not.to.include('/gone');
  });
});

describe('createFront', () => {
  /** A front that listens, and a promise of the first request that has come to it. */
  async function listening() {
    let came = (_: ServerResponse) => {};
    const first = new Promise<ServerResponse>((resolve) => (came = resolve));
    const probes = (_: IncomingMessage, response: ServerResponse) => {
      came(response);
      return false;
    };
    const place = { host: '127.0.0.1', port: 0, variable: 'PORT' };
    const front = createFront(createLifecycle(), place, { probes });
    return { front, first, url: await front.listen() };
  }

  it('hands over what waits when the application is there', async () => {
    const { front, first, url } = await listening();
    const early = fetch(`${url}/early`, { method: 'POST', body: 'text' });
    await first;
    front.open((request, response) => response.end(request.url));
    expect(await (await early).text()).to.equal('/early');
    expect(await (await fetch(`${url}/late`)).text()).to.equal('/late');
    await front.close(0);
  });

  it('forgets a request whose client has gone', async () => {
    const { front, first, url } = await listening();
    const gone = new AbortController();
    const early = fetch(url, { signal: gone.signal }).catch(() => undefined);
    const closed = once(await first, 'close');
    gone.abort();
    await Promise.all([early, closed]);
    let handed = 0;
    front.open(() => (handed += 1));
    expect(handed).to.equal(0);
    await front.close(0);
  });

  it('refuses what waits when it is closed', async () => {
    const { front, first, url } = await listening();
    const waiting = fetch(url);
    await first;
    const closed = front.close(5_000);
    const { status, headers } = await waiting;
    expect([status, headers.get('connection')]).to.deep.equal([503, 'close']);
    await closed;
  });
});

describe('a gateway that starts', function () {
  // A process starts.
  this.timeout(30_000);

  let folder: string;
  let url: string;
  let starting: Promise<TestGateway>;

  /** A plugin that is imported once `release` exists, and then ends its import with `last`. */
  async function start(last: string): Promise<void> {
    folder = await mkdtemp(join(tmpdir(), 'early-'));
    const release = JSON.stringify(join(folder, 'release'));
    await writeFile(
      join(folder, 'late.mjs'),
      `import { existsSync } from 'node:fs';
      while (!existsSync(${release})) await new Promise((resolve) => setTimeout(resolve, 20));
      ${last}
      export default { summary: 'Comes late.', input: { type: 'object' }, handler: () => ({}) };`,
    );
    const [port = 0, sitePort = 0] = await freePorts(2);
    url = `http://127.0.0.1:${port}`;
    starting = startTestGateway({
      PORT: String(port),
      CONNECT_PORT: String(sitePort),
      HELPER_PLUGINS: folder,
    });
    starting.catch(() => undefined);
    await until(async () => (await get('/healthz')).status === 200);
  }

  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function get(path: string) {
    const response = await fetch(`${url}${path}`).catch(() => undefined);
    return {
      status: response?.status,
      retry: response?.headers.get('retry-after'),
      text: await response?.text(),
    };
  }

  it('is alive and not ready, and lets calls wait', async () => {
    await start('');
    const ready = await get('/readyz');
    expect([ready.status, ready.retry]).to.deep.equal([503, '1']);
    expect(JSON.parse(ready.text ?? '')).to.deep.include({
      ok: false,
      error: { code: 'busy', message: 'The gateway is starting.' },
    });
    const call = get('/late');
    await writeFile(join(folder, 'release'), '');
    const { status, text = '' } = await call;
    expect([status, JSON.parse(text).meta.service]).to.deep.equal([401, 'late']);
    const api = await starting;
    expect((await get('/readyz')).status).to.equal(200);
    await api.close();
  });

  it('refuses the calls that wait where it cannot start, and says why', async () => {
    await start('throw new Error("never");');
    const call = get('/late');
    expect((await get('/readyz')).status).to.equal(503);
    await writeFile(join(folder, 'release'), '');
    expect((await rejection(starting)).message).to.include('late.mjs');
    const { status, text } = await call;
    expect([status, JSON.parse(text ?? '').error.code]).to.deep.equal([503, 'shutting_down']);
  });
});
