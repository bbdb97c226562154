import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect } from 'chai';
import type { Call, Linger } from '../../../gateway/http/connections.js';
import {
  createFront,
  createLifecycle,
  createParserErrorHandler,
  listen,
  serveRoundRobin,
} from '../../../gateway/http/server.js';
import { freePorts, until } from '../../needs.js';
import { rejection } from '../download/raw-server.js';
import { startTestGateway, type TestGateway } from '../harness.js';

describe('listen', () => {
  const at = (port: number, host = '127.0.0.1') => ({ host, port, variable: 'CONNECT_PORT' });

  it('gives the url of the port that was free, or says why there is none, and which variable to set', async () => {
    const server = createServer();
    const url = await listen(server, at(0));
    const { port } = server.address() as AddressInfo;
    expect(url).to.equal(`http://127.0.0.1:${port}`);
    expect((await rejection(listen(createServer(), at(port)))).message).to.equal(
      `Cannot listen on 127.0.0.1:${port}: something listens there already. Choose another port with CONNECT_PORT.`,
    );
    server.close();
    const { message } = await rejection(listen(createServer(), at(0, '192.0.2.1')));
    expect(message).to.equal('Cannot listen on 192.0.2.1:0: this machine has no such address.');
  });
});

describe('errors of connections', () => {
  const linger = { lastCall: () => undefined, end: () => undefined } as unknown as Linger;
  const late = Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  const socketOf = (write: () => unknown) => {
    const socket = { writable: true, on: () => socket, write };
    return socket as unknown as Socket;
  };

  it('of thousands whose time is over at once are answered a few in an iteration, each once', async () => {
    const written: number[] = [];
    const answer = createParserErrorHandler(linger);
    const sockets = Array.from({ length: 1000 }, (_, at) => socketOf(() => written.push(at)));
    for (const socket of sockets) for (let times = 0; times < 2; times += 1) answer(late, socket);
    expect(written).to.have.length(0);
    let most = 0;
    for (let rounds = 0; rounds < 1000 && written.length < 1000; rounds += 1) {
      const before = written.length;
      await nextIteration();
      most = Math.max(most, written.length - before);
    }
    expect(most).to.be.at.most(100);
    expect(written).to.deep.equal([...sockets.keys()]);
  });

  it('are none where what was late has come while this thread was busy', async () => {
    let call: Call | undefined;
    let written = 0;
    const answer = createParserErrorHandler({ ...linger, lastCall: () => call });
    const socket = socketOf(() => (written += 1));
    const read = { request: { complete: false } };
    const report = async (change: () => unknown) => {
      answer(late, socket);
      change();
      await nextIteration();
      await nextIteration();
    };
    // Its head has been read by the next iteration, then its body.
    await report(() => (call = read as unknown as Call));
    await report(() => (read.request.complete = true));
    expect(written).to.equal(0);
    call = undefined;
    await report(() => undefined);
    expect(written).to.equal(1);
  });
});

describe('serveRoundRobin', () => {
  let begun: string[];
  let ask: (url: string, destroyed?: boolean, headers?: object) => void;
  const flood = (count: number, url = (at: number) => `/${at}`) => {
    for (let at = 0; at < count; at += 1) ask(url(at));
  };
  beforeEach(() => {
    begun = [];
    const begin = serveRoundRobin(({ url }) => void begun.push(url ?? ''));
    ask = (url, destroyed = false, headers = {}) =>
      begin({ url, headers, socket: { destroyed } } as IncomingMessage, {} as ServerResponse);
  });

  async function quiet(): Promise<void> {
    for (let length = -1; length !== begun.length; await nextIteration()) {
      length = begun.length;
      await nextIteration();
    }
  }

  it('begins a few at once, the others in the iterations that follow, all in their order', async () => {
    flood(200);
    expect(begun.length).to.be.within(1, 50);
    await quiet();
    expect(begun).to.deep.equal(Array.from({ length: 200 }, (_, at) => `/${at}`));
    ask('/later');
    expect(begun.at(-1)).to.equal('/later');
  });

  it('begins what comes with one key round robin with what comes with others, however it is sent', async () => {
    flood(200, (at) => `/flood/${at}?x=1&ak=noisy`);
    const others = ['/one?ak=quiet', '/two?kid=quiet&sig=x', '/three'];
    for (const url of others) ask(url, false, url === '/three' ? { authorization: 'Bearer quiet' } : {});
    const before = begun.length;
    await nextIteration();
    await nextIteration();
    expect(begun.slice(before, before + 20)).to.include.members(others);
    await quiet();
    const noisy = begun.filter((url) => url.startsWith('/flood'));
    expect(noisy).to.deep.equal(noisy.toSorted((a, b) => Number(/\d+/.exec(a)) - Number(/\d+/.exec(b))));
    expect(begun).to.have.length(203);
  });

  it('answers health probes at once, and begins nothing for a client that has gone meanwhile', async () => {
    flood(200);
    ask('/gone', true);
    ask('/healthz');
    ask('/readyz?x');
    expect(begun.slice(-2)).to.deep.equal(['/healthz', '/readyz?x']);
    await quiet();
    expect(begun).not.to.include('/gone');
  });
});

describe('createFront', () => {
  it('forgets a request whose client has gone', async () => {
    let come = (_: ServerResponse) => {};
    const first = new Promise<ServerResponse>((resolve) => (come = resolve));
    const probes = (_: IncomingMessage, response: ServerResponse) => {
      come(response);
      return false;
    };
    const place = { host: '127.0.0.1', port: 0, variable: 'PORT' };
    const front = createFront(createLifecycle(), place, { probes });
    const gone = new AbortController();
    const early = fetch(await front.listen(), { signal: gone.signal }).catch(() => undefined);
    const closed = once(await first, 'close');
    gone.abort();
    await Promise.all([early, closed]);
    front.open(() => expect.fail('was handed over'));
    await front.close(0);
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
    const [PORT, CONNECT_PORT] = (await freePorts(2)).map(String) as [string, string];
    url = `http://127.0.0.1:${PORT}`;
    starting = startTestGateway({ PORT, CONNECT_PORT, HELPER_PLUGINS: folder });
    starting.catch(() => undefined);
    await until(async () => (await get('/healthz')).status === 200);
  }

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function get(path: string) {
    const response = await fetch(`${url}${path}`).catch(() => undefined);
    const text = (await response?.text()) || '{}';
    return { status: response?.status, retry: response?.headers.get('retry-after'), json: JSON.parse(text) };
  }

  it('is alive and not ready, and lets calls wait', async () => {
    await start('');
    const ready = await get('/readyz');
    expect([ready.status, ready.retry]).to.deep.equal([503, '1']);
    expect(ready.json).to.deep.include({
      ok: false,
      error: { code: 'busy', message: 'The gateway is starting.' },
    });
    const call = get('/late');
    await writeFile(join(folder, 'release'), '');
    const { status, json } = await call;
    expect([status, json.meta.service]).to.deep.equal([401, 'late']);
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
    const { status, json } = await call;
    expect([status, json.error.code]).to.deep.equal([503, 'shutting_down']);
  });
});
