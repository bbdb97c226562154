import type { Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Source } from '../../../gateway/download/fetch.js';
import { heldBeyond, heldMemory, until } from '../../needs.js';
import { codeOf, deliver, ok, redirect, rejection } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('createSource, with connections kept', () => {
  const body = 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n';
  const old = body.replace('1.1', '1.0');
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n';

  let source: Source;
  let before: number;
  // Before the hook of the routes, which sees that every connection is closed.
  afterEach(() => source.close());
  const { routes, create, server, fetch } = serveRoutes();
  beforeEach(() => {
    source = create();
    before = server().accepted();
    answer('/ok', ok('abc'));
  });

  const answer = (path: string, text: string | Buffer) => {
    routes[path] = (socket) => void socket.write(text);
  };
  const opened = () => server().accepted() - before;
  const asked = (path: string) => server().requests.filter((head) => head.split(' ')[1] === path).length;
  const get = async (path: string, tenant: string | undefined = 'a', signal?: AbortSignal) =>
    Buffer.from((await fetch(path, { tenant, signal }, source)).body).toString();
  /** Downloads from a path whose connection the test gets, to write more to it. */
  async function hold(path: string, text: string | Buffer): Promise<Socket> {
    let held: Socket | undefined;
    routes[path] = (socket) => {
      held = socket;
      socket.write(text);
    };
    await get(path);
    return held as unknown as Socket;
  }

  it('serves one download after the other over one connection, and asks for that', async () => {
    answer('/away', redirect('/ok'));
    for (const path of ['/ok', '/ok', '/away']) expect(await get(path)).to.equal('abc');
    expect(opened()).to.equal(1);
    for (const head of server().requests) expect(head).to.include('\r\nconnection: keep-alive\r\n');
  });

  it('opens one for each download of those that run at once', async () => {
    for (let round = 0; round < 2; round++) {
      await Promise.all([get('/ok'), get('/ok'), get('/ok')]);
      expect(opened()).to.equal(3);
    }
  });

  it('never serves another tenant, nor a download without one', async () => {
    const connections: number[] = [];
    for (const tenant of ['a', 'b', undefined, 'a', 'b', undefined]) {
      await fetch('/ok', { tenant }, source);
      connections.push(opened());
    }
    expect(connections).to.deep.equal([1, 2, 3, 3, 3, 4]);
  });

  const last: Record<string, [text: string, connections: number]> = {
    'with a length': [`${body}\r\nabc`, 1],
    'with chunks and trailers': [`${chunked}x: y\r\n\r\n`, 1],
    'with an interim response before': [`HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n${body}\r\nabc`, 1],
    'of HTTP/1.0 and keep-alive': [`${old}connection: keep-alive\r\n\r\nabc`, 1],
    'that closes': [`${body}connection: close\r\n\r\nabc`, 2],
    'of HTTP/1.0': [`${old}\r\nabc`, 2],
    'with a second answer behind it': [`${body}\r\nabc${ok('evil')}`, 2],
    'with a byte behind it': [`${body}\r\nabcH`, 2],
    'with a second answer behind its chunks': [`${chunked}\r\n${ok('evil')}`, 2],
    'that gives it no time': [`${body}keep-alive: timeout=0\r\n\r\nabc`, 2],
  };
  for (const [name, [text, connections]] of Object.entries(last))
    it(`${connections === 1 ? 'uses one again' : 'uses none again'} after an answer ${name}`, async () => {
      answer('/first', text);
      expect(await get('/first')).to.equal('abc');
      expect(await get('/ok')).to.equal('abc');
      expect(opened()).to.equal(connections);
    });

  const failing: Record<string, [text: string, code: string]> = {
    'an error status': ['HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n', 'source_failed'],
    'an announced excess': ['HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n', 'image_too_large'],
    'a redirect inside': [redirect('https://127.0.0.1/'), 'source_refused'],
  };
  for (const [name, [text, code]] of Object.entries(failing))
    it(`fails as ever on ${name}, and goes on`, async () => {
      answer('/first', text);
      await get('/ok');
      expect(await codeOf(get('/first'))).to.equal(code);
      expect(await get('/ok')).to.equal('abc');
    });

  it('drops one that the server has closed', async () => {
    (await hold('/bye', ok('abc'))).end();
    await until(() => server().open() === 0);
    expect(await get('/ok')).to.equal('abc');
    expect(opened()).to.equal(2);
  });

  const leaving: Record<string, (socket: Socket) => unknown> = {
    closes: (socket) => socket.end(),
    resets: (socket) => socket.resetAndDestroy(),
  };
  for (const [name, leave] of Object.entries(leaving))
    it(`asks once more where the server ${name} it on the next request, and not after a byte`, async () => {
      routes['/race'] = (socket) => (asked('/race') === 1 ? leave(socket) : socket.write(ok('abc')));
      await get('/ok');
      expect(await get('/race')).to.equal('abc');
      expect([opened(), asked('/race')]).to.deep.equal([2, 2]);
      routes['/gone'] = leave;
      routes['/half'] = (socket) => socket.end('H');
      for (const path of ['/gone', '/half']) {
        expect(await codeOf(get(path))).to.equal('source_failed');
        await get('/ok');
      }
      expect([asked('/gone'), asked('/half')]).to.deep.equal([2, 1]);
    });

  it('ends one within the deadline where no answer comes, and asks no more', async () => {
    await source.close();
    source = create({ timeoutMs: 3_000 });
    routes['/silent'] = () => undefined;
    await get('/ok');
    expect(await codeOf(get('/silent'))).to.equal('source_timeout');
    await until(() => server().open() === 0);
    expect(asked('/silent')).to.equal(1);
  });

  it('closes one whose download is aborted in the middle', async () => {
    const caller = new AbortController();
    routes['/slow'] = (socket) => {
      socket.write(`${body}\r\na`);
      setTimeout(() => caller.abort(new Error('gone')), 20);
    };
    await get('/ok');
    expect((await rejection(get('/slow', 'a', caller.signal))).message).to.equal('gone');
    await until(() => server().open() === 0);
    expect(await get('/ok')).to.equal('abc');
  });

  it('lets none that waits keep the process alive', async () => {
    const active = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const others = active();
    routes['/unref'] = (socket) => void socket.unref().write(ok('abc'));
    await get('/unref');
    await until(() => active() <= others);
    expect(server().open()).to.equal(1);
  });

  it('holds nothing of a file with one that waits', async () => {
    const file = Buffer.alloc(5_000_000);
    answer('/large', ok(file));
    await source.close();
    source = create({ maxBytes: file.length });
    const held = heldMemory();
    await get('/large');
    expect(await heldBeyond(held, 2_000_000)).to.be.below(2_000_000);
    expect(server().open()).to.equal(1);
  });

  it('closes all that wait when it is closed', async () => {
    await Promise.all([get('/ok', 'a'), get('/ok', 'b'), get('/ok', 'b')]);
    expect(server().open()).to.equal(3);
    await source.close();
    await until(() => server().open() === 0);
  });

  describe('that a server would poison', () => {
    const late = 'HTTP/1.1 408 Request Timeout\r\n\r\n';
    for (const unasked of [ok('evil'), 'x', '\r\n', late, ok('evil').subarray(0, 20)]) {
      const shown = JSON.stringify(String(unasked));

      it(`closes one on which ${shown} comes while nothing was asked`, async () => {
        (await hold('/held', ok('abc'))).write(unasked);
        await until(() => server().open() === 0);
        expect(await get('/ok')).to.equal('abc');
      });

      it(`accepts ${shown}, unread when the next request is made, for no answer to it`, async () => {
        (await hold('/held', ok('abc'))).write(unasked);
        deliver();
        for (let round = 0; round < 2; round++) expect(await get('/ok')).to.equal('abc');
      });
    }

    it('gets each download its own answer, whatever came with or after the one before', async () => {
      const closing = `${body}connection: close\r\n\r\nabc`;
      const strange = fc.constantFrom('', String(ok('evil')), '\r\n', 'HTTP/1.1 200', closing);
      const step = fc.record({ tenant: fc.constantFrom('a', 'b'), with: strange, after: strange });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
          for (const [index, { tenant, with: joined, after }] of steps.entries()) {
            let held: Socket | undefined;
            const own = `own answer ${index}`;
            routes['/step'] = (socket) => {
              held = socket;
              socket.write(ok(own) + joined);
            };
            expect(await get('/step', tenant)).to.equal(own);
            if (after === '') continue;
            held?.write(after);
            deliver();
          }
        }),
        { numRuns: 40 },
      );
    });
  });
});
