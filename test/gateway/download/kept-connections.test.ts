import type { Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Source } from '../../../gateway/download/fetch.js';
import { heldBeyond, heldMemory, until } from '../../needs.js';
import { bytesFrom } from './bytes-from.js';
import { deliver, ok, redirect } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('createSource, with connections kept', () => {
  const body = 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n';
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n';

  let source: Source;
  let before: number;
  // Before the hook of the routes, which sees that every connection is closed.
  afterEach(() => source.close());
  const { routes, create, server, codeOf } = serveRoutes();
  beforeEach(() => {
    source = create();
    before = server().accepted();
    routes['/ok'] = (socket) => void socket.write(ok('abc'));
  });

  const opened = () => server().accepted() - before;
  const get = async (path: string, tenant = 'a', options: { signal?: AbortSignal } = {}) => {
    const bytes = await bytesFrom(source, source.check(server().origin + path), { tenant, ...options });
    return Buffer.from(bytes).toString();
  };

  it('serves one download after the other over one connection, and asks for that', async () => {
    for (let round = 0; round < 5; round++) expect(await get('/ok')).to.equal('abc');
    expect(opened()).to.equal(1);
    for (const head of server().requests) expect(head).to.include('\r\nconnection: keep-alive\r\n');
  });

  it('opens one for each download of those that run at once', async () => {
    await Promise.all([get('/ok'), get('/ok'), get('/ok')]);
    expect(opened()).to.equal(3);
    await Promise.all([get('/ok'), get('/ok'), get('/ok')]);
    expect(opened()).to.equal(3);
  });

  it('never serves another tenant, nor a download of nobody', async () => {
    await get('/ok', 'a');
    await get('/ok', 'b');
    expect(opened()).to.equal(2);
    await bytesFrom(source, source.check(`${server().origin}/ok`));
    expect(opened()).to.equal(3);
    await get('/ok', 'a');
    await get('/ok', 'b');
    expect(opened()).to.equal(3);
  });

  it('follows redirects over it', async () => {
    routes['/away'] = (socket) => void socket.write(redirect('/ok'));
    expect(await get('/away')).to.equal('abc');
    expect(opened()).to.equal(1);
  });

  const good: Record<string, string> = {
    'a length': `${body}\r\nabc`,
    'chunks and trailers': `${chunked}x: y\r\n\r\n`,
    'an interim response before': `HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n${body}\r\nabc`,
    'HTTP/1.0 and keep-alive': `HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 3\r\n\r\nabc`,
  };
  for (const [name, text] of Object.entries(good)) {
    it(`keeps one after an answer with ${name}`, async () => {
      routes['/first'] = (socket) => void socket.write(text);
      expect(await get('/first')).to.equal('abc');
      expect(await get('/ok')).to.equal('abc');
      expect(opened()).to.equal(1);
    });
  }

  const failing: Record<string, [string, string]> = {
    'a length and chunks': [
      `${body}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
      'source_failed',
    ],
    'chunks and a length': [
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
      'source_failed',
    ],
    'an error status': ['HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n', 'source_failed'],
    'a 204': ['HTTP/1.1 204 No Content\r\n\r\n', 'source_failed'],
    'a 304 that announces a body': [
      'HTTP/1.1 304 Not Modified\r\ncontent-length: 3\r\n\r\n',
      'source_failed',
    ],
    'an empty file': ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', 'source_failed'],
    'an announced excess': ['HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n', 'image_too_large'],
    'a redirect inside': [redirect('https://127.0.0.1/'), 'source_refused'],
  };
  for (const [name, [text, code]] of Object.entries(failing)) {
    it(`fails as ever on ${name}, and goes on`, async () => {
      routes['/first'] = (socket) => void socket.write(text);
      await get('/ok');
      expect(await codeOf(get('/first'))).to.equal(code);
      expect(await get('/ok')).to.equal('abc');
    });
  }

  it('drops one that the server has closed', async () => {
    routes['/bye'] = (socket) => {
      socket.write(ok('abc'));
      setTimeout(() => socket.end(), 10);
    };
    await get('/bye');
    await until(() => server().open() === 0);
    expect(await get('/ok')).to.equal('abc');
    expect(opened()).to.equal(2);
  });

  for (const [name, leave] of Object.entries({
    closes: (socket: Socket) => socket.end(),
    resets: (socket: Socket) => socket.resetAndDestroy(),
  })) {
    it(`asks once more where the server ${name} it on the next request`, async () => {
      let asked = 0;
      routes['/race'] = (socket) => {
        asked += 1;
        if (asked === 1) leave(socket);
        else socket.write(ok('abc'));
      };
      await get('/ok');
      expect(await get('/race')).to.equal('abc');
      expect(opened()).to.equal(2);
      expect(asked).to.equal(2);
    });

    it(`asks no third time where the server ${name} the new one too`, async () => {
      let asked = 0;
      routes['/gone'] = (socket) => {
        asked += 1;
        leave(socket);
      };
      await get('/ok');
      expect(await codeOf(get('/gone'))).to.equal('source_failed');
      expect(asked).to.equal(2);
    });
  }

  it('does not ask again once a byte of an answer has come', async () => {
    let asked = 0;
    routes['/half'] = (socket) => {
      asked += 1;
      socket.end('H');
    };
    await get('/ok');
    expect(await codeOf(get('/half'))).to.equal('source_failed');
    expect(asked).to.equal(1);
  });

  it('ends one within the deadline where no answer comes, and asks no more', async () => {
    await source.close();
    source = create({ timeoutMs: 3_000 });
    let asked = 0;
    routes['/silent'] = () => {
      asked += 1;
    };
    await get('/ok');
    expect(await codeOf(get('/silent'))).to.equal('source_timeout');
    await until(() => server().open() === 0);
    expect(asked).to.equal(1);
  });

  it('closes one whose download is aborted in the middle', async () => {
    const caller = new AbortController();
    routes['/slow'] = (socket) => {
      socket.write(`${body}\r\na`);
      setTimeout(() => caller.abort(new Error('gone')), 20);
    };
    await get('/ok');
    const error = await get('/slow', 'a', { signal: caller.signal }).catch((caught) => caught);
    expect(error).to.have.property('message', 'gone');
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
    routes['/large'] = (socket) => void socket.write(ok(file));
    await source.close();
    source = create({ maxBytes: file.length });
    const held = heldMemory();
    await get('/large');
    expect(server().open()).to.equal(1);
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
    const last: Record<string, string> = {
      'that closes': `${body}connection: close\r\n\r\nabc`,
      'of HTTP/1.0': `HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nabc`,
      'with a second answer behind it': `${body}\r\nabc${ok('evil')}`,
      'with a byte behind it': `${body}\r\nabcH`,
      'with a second answer behind its chunks': `${chunked}\r\n${ok('evil')}`,
      'that gives it no time': `${body}keep-alive: timeout=0\r\n\r\nabc`,
    };
    for (const [name, text] of Object.entries(last)) {
      it(`uses none again after an answer ${name}`, async () => {
        routes['/first'] = (socket) => void socket.write(text);
        expect(await get('/first')).to.equal('abc');
        expect(await get('/ok')).to.equal('abc');
        expect(opened()).to.equal(2);
      });
    }

    it('closes one on which something comes while nothing was asked', async () => {
      for (const unasked of [ok('evil'), 'x', '\r\n', 'HTTP/1.1 408 Request Timeout\r\n\r\n']) {
        let held: Socket | undefined;
        routes['/held'] = (socket) => {
          held = socket;
          socket.write(ok('abc'));
        };
        await get('/held');
        held?.write(unasked);
        await until(() => server().open() === 0);
        expect(await get('/ok')).to.equal('abc');
        await get('/ok');
      }
    });

    for (const unasked of [
      ok('evil'),
      'x',
      '\r\n',
      'HTTP/1.1 408 Request Timeout\r\n\r\n',
      ok('evil').slice(0, 20),
    ]) {
      it(`takes ${JSON.stringify(String(unasked))}, unread when the next request is made, for no answer to it`, async () => {
        let held: Socket | undefined;
        routes['/held'] = (socket) => {
          held = socket;
          socket.write(ok('abc'));
        };
        await get('/held');
        held?.write(unasked);
        deliver();
        expect(await get('/ok')).to.equal('abc');
        expect(await get('/ok')).to.equal('abc');
      });
    }

    it('gets each download its own answer, whatever came with or after the one before', async () => {
      const strange = fc.constantFrom(
        '',
        ok('evil'),
        '\r\n',
        'HTTP/1.1 200',
        `${body}connection: close\r\n\r\nabc`,
      );
      const step = fc.record({ tenant: fc.constantFrom('a', 'b'), with: strange, after: strange });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
          for (const [index, { tenant, with: joined, after }] of steps.entries()) {
            let held: Socket | undefined;
            const own = `own answer ${index}`;
            routes['/step'] = (socket) => {
              held = socket;
              socket.write(Buffer.concat([Buffer.from(ok(own)), Buffer.from(joined)]));
            };
            const url = source.check(`${server().origin}/step`);
            expect(Buffer.from(await bytesFrom(source, url, { tenant })).toString()).to.equal(own);
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
