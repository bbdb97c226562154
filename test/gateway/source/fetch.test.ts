import type { Socket } from 'node:net';
import { expect } from 'chai';
import { errorTable, GatewayError } from '../../../gateway/errors.js';
import { createSource, type Source, type SourceOptions } from '../../../gateway/source/fetch.js';
import { ok, type RawServer, redirect, rejection, startRawServer, until } from './raw-server.js';

const routes: Record<string, (socket: Socket) => void> = {};
const say = (path: string, text: string | Buffer) => {
  routes[path] = (socket) => socket.end(text);
};

describe('createSource', () => {
  let server: RawServer;
  let source: Source;
  const sources: Source[] = [];
  const create = (options: Partial<SourceOptions> = {}) => {
    const created = createSource({
      origins: [server.origin],
      timeoutMs: 8000,
      maxBytes: 100_000,
      ...options,
    });
    sources.push(created);
    return created;
  };
  const get = (path: string, from = source) => from.fetch(from.check(server.origin + path));
  const codeOf = async (promise: Promise<unknown>) => (await rejection(promise)).code;

  before(async () => {
    server = await startRawServer((socket, path) =>
      (routes[path] ?? ((s) => s.end(redirect('/')))).call(null, socket),
    );
    source = create();
  });
  after(async () => {
    for (const each of sources) await each.close();
    await server.close();
  });
  afterEach(async () => {
    server.requests.length = 0;
    expect(await until(() => server.open() === 0), 'every connection is closed').to.equal(true);
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
      `host: ${server.origin.slice(7)}`,
      'user-agent: helper-gateway',
    ];
    const heads = server.requests.map((head) => head.trim().split('\r\n'));
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

    it('does not follow a fourth, nor a loop', async () => {
      expect(await codeOf(get('/hop4'))).to.equal('source_failed');
      expect(await codeOf(get('/loop'))).to.equal('source_failed');
      expect(server.requests).to.have.length(8);
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

  describe('bad answers', () => {
    const head = 'HTTP/1.1 200 OK\r\n';
    const failing: Record<string, string> = {
      'a 404': 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n',
      'a 500': 'HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n',
      'a 204': 'HTTP/1.1 204 No Content\r\n\r\n',
      'a 206': 'HTTP/1.1 206 Partial Content\r\ncontent-length: 1\r\n\r\na',
      'a 304': 'HTTP/1.1 304 Not Modified\r\n\r\n',
      'a 302 without a location': 'HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n',
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

  describe('the byte limit', () => {
    it('takes a file of exactly that size and refuses one byte more, announced or not', async () => {
      const small = create({ maxBytes: 1000 });
      const chunked = (size: number) =>
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${size.toString(16)}\r\n${'a'.repeat(size)}\r\n0\r\n\r\n`;
      say('/exact', ok('a'.repeat(1000)));
      say('/exact-chunked', chunked(1000));
      say('/over', ok('a'.repeat(1001)));
      say('/over-chunked', chunked(1001));
      for (const path of ['/exact', '/exact-chunked']) expect(await get(path, small)).to.have.length(1000);
      for (const path of ['/over', '/over-chunked'])
        expect(await codeOf(get(path, small))).to.equal('image_too_large');
    });

    it('refuses an announced excess before it comes', async () => {
      routes['/announced'] = (socket) =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n');
      expect(await codeOf(get('/announced'))).to.equal('image_too_large');
    });

    const endless = (start: string, piece: string) => (socket: Socket) => {
      socket.write(start);
      const pump = () => {
        while (!socket.destroyed && socket.write(piece));
        if (!socket.destroyed) socket.once('drain', pump);
      };
      pump();
    };
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    const floods: Record<string, [string, string, string]> = {
      'an endless body': ['HTTP/1.1 200 OK\r\n\r\n', 'a'.repeat(10_000), 'image_too_large'],
      'endless chunks of one byte': [chunked, '1\r\na\r\n'.repeat(1000), 'source_failed'],
      'endless chunk extensions': [`${chunked}1;`, 'x=y;'.repeat(1000), 'source_failed'],
      'endless trailers': [`${chunked}1\r\na\r\n0\r\n`, 'x: y\r\n'.repeat(1000), 'source_failed'],
      'endless interim responses': ['', 'HTTP/1.1 103 Hints\r\nx: y\r\n\r\n'.repeat(100), 'source_failed'],
      'an endless header': ['HTTP/1.1 200 OK\r\nx: ', 'a'.repeat(10_000), 'source_failed'],
      'endless empty lines': ['', '\r\n'.repeat(10_000), 'source_failed'],
    };
    for (const [name, [start, piece, code]] of Object.entries(floods)) {
      it(`ends ${name}`, async () => {
        routes['/flood'] = endless(start, piece);
        expect(await codeOf(get('/flood'))).to.equal(code);
      });
    }
  });

  describe('the deadline', () => {
    const slow: Record<string, (socket: Socket) => void> = {
      'never answers': () => {},
      'stops in its headers': (socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: '),
      'stops in its body': (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\na'),
      'drips a byte every 20 ms': (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n');
        const timer = setInterval(() => socket.write('a'), 20);
        socket.on('close', () => clearInterval(timer));
      },
      'redirects slowly': (socket) => setTimeout(() => socket.end(redirect('/slow')), 120),
    };
    for (const [name, answer] of Object.entries(slow)) {
      it(`ends a server that ${name}`, async () => {
        routes['/slow'] = answer;
        expect(await codeOf(get('/slow', create({ timeoutMs: 300 })))).to.equal('source_timeout');
      });
    }

    it('covers a name server that never answers', async () => {
      const dark = create({ timeoutMs: 100, resolve: () => new Promise(() => {}) });
      expect(await codeOf(dark.fetch(dark.check('https://example.com/')))).to.equal('source_timeout');
    });
  });

  describe('giving up', () => {
    it("closes the connection at once when the caller's signal is aborted, with its reason", async () => {
      const caller = new AbortController();
      routes['/wait'] = () => caller.abort(new Error('client gone'));
      const error = await rejection(
        source.fetch(source.check(`${server.origin}/wait`), { signal: caller.signal }),
      );
      expect(error.message).to.equal('client gone');
    });

    it('does not even connect for a caller who has gone', async () => {
      const signal = AbortSignal.abort(new Error('client gone'));
      expect((await rejection(source.fetch(source.check(server.origin), { signal }))).message).to.equal(
        'client gone',
      );
      expect(server.requests).to.have.length(0);
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
      expect(await codeOf(source.fetch({ href: 'https://127.0.0.1/' }))).to.equal('source_refused');
    });
  });
});
