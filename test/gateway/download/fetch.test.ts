import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createSource, type Source } from '../../../gateway/download/fetch.js';
import { errorTable, GatewayError } from '../../../gateway/errors.js';
import type { Attributes, Step } from '../../../gateway/observability/tracing.js';
import { heldBeyond, heldMemory, skipWithout } from '../../needs.js';
import { bytesFrom } from './bytes-from.js';
import { hasOpenssl, makeCertificate } from './certificate.js';
import { ok, redirect, rejection, startRawServer } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('createSource', () => {
  const { routes, create, server, say, get, codeOf } = serveRoutes();
  let source: Source;
  before(() => {
    source = create();
  });

  it('brings the bytes, alone in an ArrayBuffer that can be moved', async () => {
    say('/a', ok('bytes'));
    const bytes = await get('/a');
    expect(Buffer.from(bytes).toString()).to.equal('bytes');
    expect(structuredClone(bytes, { transfer: [bytes.buffer] })).to.have.length(5);
  });

  it('reads chunked bodies, bodies up to the end of the connection, and past interim responses', async () => {
    say(
      '/chunked',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nt: r\r\n\r\n',
    );
    say('/end', 'HTTP/1.0 200 OK\r\n\r\nabcde');
    say(
      '/hints',
      Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), ok('abcde') as Buffer]),
    );
    for (const path of ['/chunked', '/end', '/hints'])
      expect(Buffer.from(await get(path)).toString()).to.equal('abcde');
  });

  it('sends its own few headers and nothing else, on redirects too', async () => {
    say('/first?ak=hg_secret', redirect('/second', 301).replace('\r\n\r\n', '\r\nset-cookie: a=b\r\n\r\n'));
    say('/second', ok('x'));
    await get('/first?ak=hg_secret');
    const expected = [
      'accept: image/*',
      'accept-encoding: identity',
      'connection: close',
      `host: ${server().origin.slice(7)}`,
      'user-agent: helper-gateway',
    ];
    const heads = server().requests.map((head) => head.trim().split('\r\n'));
    expect(heads.map(([line]) => line)).to.deep.equal([
      'GET /first?ak=hg_secret HTTP/1.1',
      'GET /second HTTP/1.1',
    ]);
    for (const [, ...lines] of heads) expect(lines).to.have.members(expected);
  });

  describe('redirects', () => {
    before(() => {
      for (let hop = 1; hop <= 5; hop++)
        say(`/hop${hop}`, redirect(`/hop${hop - 1}`, [301, 302, 303, 307, 308][hop - 1]));
      say('/hop0', ok('there'));
      say('/loop', redirect('/loop'));
    });

    for (const hops of [1, 2, 3]) {
      it(`follows ${hops}`, async () => expect(await get(`/hop${hops}`)).to.have.length(5));
    }

    it('follows a location that was sent as raw UTF-8', async () => {
      say('/raw', redirect('/ä'));
      say('/%C3%A4', ok('there'));
      expect(await get('/raw')).to.have.length(5);
    });

    it('does not follow a fourth, nor a loop', async () => {
      expect(await codeOf(get('/hop4'))).to.equal('source_failed');
      expect(await codeOf(get('/loop'))).to.equal('source_failed');
      expect(server().requests).to.have.length(8);
    });

    const inside = [
      'http://127.0.0.1:1/',
      'https://127.0.0.1/',
      'https://169.254.169.254/latest/meta-data/',
      'https://[::1]/',
      'http://example.com/',
      'https://example.com:444/',
      'https://user:pass@example.com/',
      'file:///etc/passwd',
      'data:image/png;base64,AA==',
      '//2130706433/',
      'https://localhost/',
    ];
    for (const location of inside) {
      it(`refuses one to ${location} with the one message`, async () => {
        say('/inside', redirect(location));
        const error = await rejection(get('/inside'));
        expect(error).to.include({ code: 'source_refused', message: errorTable.source_refused.message });
      });
    }

    for (const location of ['https://exa mple.com/', '/a\tb', '\\\\127.0.0.1\\', 'https://']) {
      it(`fails on one to ${JSON.stringify(location)}`, async () => {
        say('/broken', redirect(location));
        expect(await codeOf(get('/broken'))).to.equal('source_failed');
      });
    }
  });

  describe('giving up', () => {
    it("closes the connection at once when the caller's signal is aborted, with its reason", async () => {
      const caller = new AbortController();
      routes['/wait'] = () => caller.abort(new Error('client gone'));
      const error = await rejection(
        bytesFrom(source, source.check(`${server().origin}/wait`), { signal: caller.signal }),
      );
      expect(error.message).to.equal('client gone');
    });

    it('does not even connect for a caller who has gone', async () => {
      const signal = AbortSignal.abort(new Error('client gone'));
      expect(
        (await rejection(bytesFrom(source, source.check(server().origin), { signal }))).message,
      ).to.equal('client gone');
      expect(server().requests).to.have.length(0);
    });

    it('ends downloads that run and refuses new ones once it is closed', async () => {
      const closing = create();
      routes['/wait'] = () => void closing.close();
      expect(await codeOf(get('/wait', closing))).to.equal('shutting_down');
      expect(await codeOf(get('/wait', closing))).to.equal('shutting_down');
    });
  });

  describe('check', () => {
    const problemOf = (raw: string) => {
      try {
        source.check(raw);
      } catch (error) {
        return error as GatewayError;
      }
      return undefined;
    };

    it('names the field of what is not a url', () => {
      const error = problemOf('photo.jpg');
      expect(error).to.include({ code: 'invalid_input' });
      expect(error?.details?.[0])
        .to.include({ field: 'url' })
        .and.to.have.property('problem')
        .that.includes('is a string, but not a url');
    });

    it('says one and the same of everything that may not be fetched', () => {
      const refused = [
        'http://example.com/',
        'https://example.com:8443/',
        'https://u:p@example.com/',
        'https://10.0.0.1/',
        'https://nas.local/',
        'file:///etc/passwd',
      ];
      const answers = refused
        .map((raw) => problemOf(raw))
        .map((error) => [error?.code, error?.message, error?.details, error?.headers]);
      for (const answer of answers)
        expect(answer).to.deep.equal(['source_refused', errorTable.source_refused.message, undefined, {}]);
    });

    it('is not what fetch relies on', async () => {
      expect(await codeOf(bytesFrom(source, { href: 'https://127.0.0.1/' }))).to.equal('source_refused');
    });
  });
});

describe('a source that takes any status', () => {
  const { create, server, say, codeOf } = serveRoutes();
  const fetch = (path: string, options = {}) => {
    const source = create();
    return source.fetch(source.check(server().origin + path), { anyStatus: true, ...options });
  };

  it('gives status, headers and bytes, which may be none', async () => {
    say('/gone', 'HTTP/1.1 410 Gone\r\nX-Why: old\r\ncontent-length: 3\r\n\r\nold');
    const gone = await fetch('/gone');
    expect([gone.status, gone.headers['x-why'], Buffer.from(gone.body).toString()]).to.deep.equal([
      410,
      'old',
      'old',
    ]);
    say('/none', 'HTTP/1.1 204 No Content\r\n\r\n');
    expect(await fetch('/none')).to.deep.include({ status: 204, body: new Uint8Array() });
    say('/empty', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    expect(await fetch('/empty')).to.deep.include({ status: 200, body: new Uint8Array() });
  });

  it('follows redirects all the same, asking each for the same', async () => {
    say('/from', redirect('/to'));
    say('/to', ok('here'));
    expect(Buffer.from((await fetch('/from', { accept: 'text/csv' })).body).toString()).to.equal('here');
    expect(server().requests.every((head) => /^accept: text\/csv\r$/m.test(head))).to.equal(true);
  });

  it('takes no more than it is told to, and nothing compressed', async () => {
    say('/long', ok('12345'));
    expect(await codeOf(fetch('/long', { maxBytes: 4 }))).to.equal('image_too_large');
    say('/gzip', 'HTTP/1.1 404 None\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx');
    expect(await codeOf(fetch('/gzip'))).to.equal('source_failed');
  });
});

describe('createSource', () => {
  const { routes, create, say, get, codeOf } = serveRoutes();

  describe('bad answers', () => {
    const head = 'HTTP/1.1 200 OK\r\n';
    const failing: Record<string, string> = {
      'a 404': 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n',
      'a 500': 'HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n',
      'a 204': 'HTTP/1.1 204 No Content\r\n\r\n',
      'a 206': 'HTTP/1.1 206 Partial Content\r\ncontent-length: 1\r\n\r\na',
      'a 304': 'HTTP/1.1 304 Not Modified\r\n\r\n',
      'a 201': 'HTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\na',
      'a 300': 'HTTP/1.1 300 Choices\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n',
      'a 305': 'HTTP/1.1 305 Proxy\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n',
      'a 302 without a location': 'HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n',
      'a 302 with an empty location': 'HTTP/1.1 302 Found\r\nlocation:\r\ncontent-length: 0\r\n\r\n',
      'a 302 with two locations':
        'HTTP/1.1 302 Found\r\nlocation: /a\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n',
      'a body in two codings': `${head}content-encoding: identity, br\r\ncontent-length: 1\r\n\r\na`,
      'an unasked 101': 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      'an unasked 100': 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na',
      'an empty body': `${head}content-length: 0\r\n\r\n`,
      'an empty chunked body': `${head}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      'an empty body of unknown length': `${head}\r\n`,
      'a gzipped body': `${head}content-encoding: gzip\r\ncontent-length: 1\r\n\r\na`,
      'a gzipped transfer': `${head}transfer-encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`,
      'too few bytes': `${head}content-length: 10\r\n\r\nabc`,
      'a broken-off chunk': `${head}transfer-encoding: chunked\r\n\r\n5\r\nab`,
      'a chunk of nonsense': `${head}transfer-encoding: chunked\r\n\r\nzz\r\nab`,
      'two lengths': `${head}content-length: 1\r\ncontent-length: 2\r\n\r\nab`,
      'a length that is no number': `${head}content-length: 1x\r\n\r\nab`,
      'a negative length': `${head}content-length: -1\r\n\r\nab`,
      'a header bomb': `${head}x: ${'a'.repeat(20_000)}\r\ncontent-length: 1\r\n\r\na`,
      'ten thousand headers': `${head}${'x: y\r\n'.repeat(10_000)}content-length: 1\r\n\r\na`,
      'HTTP/2 without being asked': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'no HTTP': 'SSH-2.0-OpenSSH_9.0\r\n',
      nothing: '',
    };
    for (const [name, text] of Object.entries(failing)) {
      it(`fails on ${name}`, async () => {
        say('/bad', text);
        const error = await rejection(get('/bad'));
        expect(error).to.be.instanceOf(GatewayError);
        expect(error.code).to.equal('source_failed');
        expect(error.message).to.match(/\.$/).and.not.include('127.0.0.1');
      });
    }

    it('says which status came', async () => {
      say('/gone', 'HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n');
      expect((await rejection(get('/gone'))).message).to.equal('The server behind the url answered 410.');
    });

    it('fails when the connection is reset in the middle', async () => {
      routes['/reset'] = (socket) =>
        socket.write(`${head}content-length: 10\r\n\r\nabc`, () => socket.resetAndDestroy());
      expect(await codeOf(get('/reset'))).to.equal('source_failed');
    });

    it('takes no byte past the announced length', async () => {
      say('/more', `${ok('abc')}HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\ndef`);
      expect(Buffer.from(await get('/more')).toString()).to.equal('abc');
    });

    it('fails when nobody listens', async () => {
      const gone = await startRawServer(() => {});
      await gone.close();
      const lost = create({ origins: [gone.origin] });
      expect(await codeOf(lost.fetch(lost.check(gone.origin)))).to.equal('source_failed');
    });
  });
});

describe('createSource', () => {
  const { routes, create, server, say } = serveRoutes();
  const fetchWith = (
    path: string,
    options: { signal?: AbortSignal; onProgress: (bytes: number) => void },
    maxBytes = 100_000,
  ) => {
    const source = create({ maxBytes });
    return bytesFrom(source, source.check(server().origin + path), options);
  };

  describe('onProgress', () => {
    it('is told of each head, then of every piece of the file', async () => {
      say('/from', redirect('/to'));
      let next = () => {};
      routes['/to'] = (socket) => {
        socket.write('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc');
        next = () => socket.end('def');
      };
      const told: number[] = [];
      const onProgress = (bytes: number) => {
        told.push(bytes);
        if (told.length === 3) next();
      };
      await fetchWith('/from', { onProgress });
      expect(told).to.deep.equal([0, 0, 3, 3]);
    });

    it('is not called for what gives no head', async () => {
      say('/nothing', 'HTTP/1.1 103 Early Hints\r\n\r\n');
      const told: number[] = [];
      await rejection(fetchWith('/nothing', { onProgress: (bytes) => told.push(bytes) }));
      expect(told).to.deep.equal([]);
    });

    it("may abort the download, which ends at once with the signal's reason", async () => {
      const caller = new AbortController();
      routes['/drip'] = (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc');
      const onProgress = (bytes: number) => bytes > 0 && caller.abort(new Error('too slow'));
      const error = await rejection(fetchWith('/drip', { signal: caller.signal, onProgress }));
      expect(error.message).to.equal('too slow');
    });

    it('ends the download and nothing else where it throws', async () => {
      say('/file', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc');
      const onProgress = () => {
        throw new Error('oops');
      };
      await rejection(fetchWith('/file', { onProgress }));
    });
  });

  it('keeps nothing of a download that was aborted, while its signal lives on', async () => {
    const piece = Buffer.alloc(8_000_000);
    routes['/large'] = (socket) =>
      void socket.write(
        Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n'), piece]),
      );
    const before = heldMemory();
    const callers: AbortController[] = [];
    for (let at = 0; at < 5; at++) {
      const caller = new AbortController();
      callers.push(caller);
      let left = piece.length;
      const onProgress = (bytes: number) => {
        left -= bytes;
        if (left === 0) caller.abort(new Error('enough'));
      };
      expect(
        (await rejection(fetchWith('/large', { signal: caller.signal, onProgress }, 10_000_000))).message,
      ).to.equal('enough');
    }
    expect(await heldBeyond(before, 9_000_000)).to.be.below(9_000_000);
    expect(callers).to.have.length(5);
  });
});

describe('a download that is traced', () => {
  let server: https.Server;
  let source: Source;
  let asked: [host: string | undefined, IncomingHttpHeaders][];
  let told: Attributes[];
  let ended: unknown[];
  let own: string;

  before(async function () {
    if (!hasOpenssl()) skipWithout(this, 'the openssl command');
    const certificate = makeCertificate('DNS:own.example,DNS:stranger.example');
    server = https.createServer(certificate, (req, res) => {
      asked.push([req.headers.host?.split(':')[0], req.headers]);
      if (req.url === '/away') res.writeHead(302, { location: 'https://stranger.example/' }).end();
      else if (req.url === '/back') res.writeHead(302, { location: `${own}/` }).end();
      else res.end('here');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    own = `https://own.example:${port}`;
    source = createSource({
      origins: [own],
      timeoutMs: 60_000,
      maxBytes: 1000,
      ca: certificate.cert,
      resolve: async () => ['93.184.216.34'],
      resolveExempt: async () => ['192.0.2.1'],
      // As if it were there: where a connection leads to is looked at, too.
      connect: ({ host }) =>
        Object.defineProperty(net.connect(port, '127.0.0.1'), 'remoteAddress', { value: host }),
    });
  });

  beforeEach(() => {
    asked = [];
    told = [];
    ended = [];
  });

  after(async () => {
    await source?.close();
    server?.close();
  });

  const step: Step = {
    set: (attributes) => void told.push(attributes),
    end: (error) => void ended.push(error),
    headers: () => ({ traceparent: 'a trace', tracestate: 'its state' }),
  };
  const fetch = (url: string) =>
    source.fetch(source.check(url), { trace: { part: () => step }, accept: '*/*' });
  const whoKnows = () => asked.map(([host, { traceparent, tracestate }]) => [host, traceparent, tracestate]);

  it('tells the operator’s own servers of it', async () => {
    await fetch(`${own}/`);
    expect(whoKnows()).to.deep.equal([['own.example', 'a trace', 'its state']]);
    expect(told).to.deep.equal([{ 'http.response.status_code': 200, 'http.response.body.size': 4 }]);
    expect(ended).to.deep.equal([undefined]);
  });

  it('tells no stranger of it, asked or redirected to', async () => {
    await fetch('https://stranger.example/');
    await fetch(`${own}/away`);
    await fetch('https://stranger.example/back');
    expect(whoKnows()).to.deep.equal([
      ['stranger.example', undefined, undefined],
      ['own.example', 'a trace', 'its state'],
      ['stranger.example', undefined, undefined],
      ['stranger.example', undefined, undefined],
      ['own.example', 'a trace', 'its state'],
    ]);
  });

  it('ends with the error that it ended with', async () => {
    const error = await rejection(
      source.fetch(source.check(`${own}/`), { trace: { part: () => step }, maxBytes: 1 }),
    );
    expect(ended).to.deep.equal([error]);
  });
});
