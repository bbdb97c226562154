import type { Socket } from 'node:net';
import { expect } from 'chai';
import { errorTable, GatewayError } from '../../../gateway/errors.js';
import { words } from '../../examples.js';
import { heldBeyond, heldMemory } from '../../needs.js';
import { codeOf, ok, redirect, rejection, startRawServer } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('createSource', () => {
  const { routes, create, server, say, fetch, get } = serveRoutes();
  const textOf = async (...given: Parameters<typeof get>) => Buffer.from(await get(...given)).toString();
  const head = 'HTTP/1.1 200 OK\r\n';
  const chunked = `${head}transfer-encoding: chunked\r\n\r\n`;
  const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n';

  const bodies: Record<string, string> = {
    'chunks, extensions and trailers': `${chunked}3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nt: r\r\n\r\n`,
    'the end of the connection': 'HTTP/1.0 200 OK\r\n\r\nabcde',
    'interim responses': `${hint}${ok('abcde')}`,
    'more than it announced': `${ok('abcde')}${ok('evil')}`,
  };
  for (const [name, answer] of Object.entries(bodies))
    it(`reads a body by ${name}`, async () => {
      say('/body', answer);
      expect(await textOf('/body')).to.equal('abcde');
    });

  it('sends its own few headers and nothing else, on redirects too', async () => {
    say('/first?ak=hg_secret', redirect('/second', 301).replace('\r\n\r\n', '\r\nset-cookie: a=b\r\n\r\n'));
    say('/second', ok('x'));
    await get('/first?ak=hg_secret');
    const own = ['accept-encoding: identity', 'accept: image/*', 'connection: close'];
    const others = [`host: ${server().origin.slice(7)}`, 'user-agent: helper-gateway'];
    const expected = ['/first?ak=hg_secret', '/second'].map((path) => [
      `GET ${path} HTTP/1.1`,
      ...own,
      ...others,
    ]);
    const heads = server().requests.map((text) => text.trim().split('\r\n').sort());
    expect(heads).to.deep.equal(expected);
  });

  describe('redirects', () => {
    it('are followed three times, and no fourth, nor a loop', async () => {
      for (let hop = 1; hop <= 5; hop++)
        say(`/hop${hop}`, redirect(`/hop${hop - 1}`, [301, 302, 303, 307, 308][hop - 1]));
      say('/hop0', redirect('/ä'));
      // As raw UTF-8, which servers send unescaped.
      say('/%C3%A4', ok('there'));
      expect(await textOf('/hop2')).to.equal('there');
      server().requests.length = 0;
      for (const path of ['/hop5', '/loop']) expect(await codeOf(get(path))).to.equal('source_failed');
      expect(server().requests).to.have.length(8);
    });

    const inside = words`
      http://127.0.0.1:1/ https://127.0.0.1/ https://169.254.169.254/latest/meta-data/ https://[::1]/
      http://example.com/ https://example.com:444/ https://user:pass@example.com/ file:///etc/passwd
      data:image/png;base64,AA== //2130706433/ https://localhost/
    `;
    for (const location of inside)
      it(`are refused to ${location} with the one message`, async () => {
        say('/inside', redirect(location));
        const { message } = errorTable.source_refused;
        expect(await rejection(get('/inside'))).to.include({ code: 'source_refused', message });
      });

    const tooLong = /Location is longer than the 8192 characters/;
    const broken: [string, RegExp][] = [
      ['https://exa mple.com/', /Location is a string, but not a url/],
      ['https://', /Location is a string, but not a url/],
      ['/a\tb', /Location has a control character/],
      ['\\\\127.0.0.1\\', /Location has a control character .* or a backslash/],
      [`/${'a'.repeat(9000)}`, tooLong],
      [`/${'ä'.repeat(1500)}`, tooLong],
      [`/${'a'.repeat(20_000)}`, /headers of more than 16384 bytes/],
    ];
    for (const [location, message] of broken)
      it(`are the source's fault to ${JSON.stringify(location.slice(0, 30))}`, async () => {
        say('/broken', redirect(location));
        const error = await rejection(get('/broken'));
        expect(error).to.include({ code: 'source_failed', details: undefined });
        expect(error.message).to.match(message);
      });
  });

  it('ends with the reason of its signal, at once, and does not even connect after that', async () => {
    const caller = new AbortController();
    routes['/wait'] = () => caller.abort(new Error('client gone'));
    for (let round = 0; round < 2; round++)
      expect((await rejection(fetch('/wait', { signal: caller.signal }))).message).to.equal('client gone');
    expect(server().requests).to.have.length(1);
  });

  it('ends downloads that run and refuses new ones once it is closed', async () => {
    const closing = create();
    routes['/wait'] = () => void closing.close();
    for (let round = 0; round < 2; round++)
      expect(await codeOf(get('/wait', closing))).to.equal('shutting_down');
  });

  it('accepts any status and an empty answer where that is wanted, and nothing compressed', async () => {
    const any = (path: string) => fetch(path, { anyStatus: true });
    say('/gone', 'HTTP/1.1 410 Gone\r\nX-Why: old\r\ncontent-length: 3\r\n\r\nold');
    const { status, headers, body } = await any('/gone');
    expect([status, headers['x-why'], String(Buffer.from(body))]).to.deep.equal([410, 'old', 'old']);
    say('/none', 'HTTP/1.1 204 No Content\r\n\r\n');
    expect(await any('/none')).to.deep.include({ status: 204, body: new Uint8Array() });
    say('/empty', `${head}content-length: 0\r\n\r\n`);
    expect(await any('/empty')).to.deep.include({ status: 200, body: new Uint8Array() });
    say('/gzip', 'HTTP/1.1 404 None\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx');
    expect(await codeOf(any('/gzip'))).to.equal('source_failed');
  });

  describe('bad answers', () => {
    const empty = 'content-length: 0\r\n\r\n';
    const failing: Record<string, string> = {
      'a 302 without a location': `HTTP/1.1 302 Found\r\n${empty}`,
      'a 302 with an empty location': `HTTP/1.1 302 Found\r\nlocation:\r\n${empty}`,
      'a 302 with two locations': `HTTP/1.1 302 Found\r\nlocation: /a\r\nlocation: /b\r\n${empty}`,
      'a body in two codings': `${head}content-encoding: identity, br\r\ncontent-length: 1\r\n\r\na`,
      'an unasked 101': 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      'an unasked 100': `HTTP/1.1 100 Continue\r\n\r\n${ok('a')}`,
      'an empty body': `${head}${empty}`,
      'an empty chunked body': `${chunked}0\r\n\r\n`,
      'an empty body of unknown length': `${head}\r\n`,
      'a gzipped body': `${head}content-encoding: gzip\r\ncontent-length: 1\r\n\r\na`,
      'a gzipped transfer': `${head}transfer-encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`,
      'too few bytes': `${head}content-length: 10\r\n\r\nabc`,
      'a broken-off chunk': `${chunked}5\r\nab`,
      'a chunk of nonsense': `${chunked}zz\r\nab`,
      'two lengths': `${head}content-length: 1\r\ncontent-length: 2\r\n\r\nab`,
      'a length and chunks': `${head}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
      'chunks and a length': `${head}transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
      'a length that is no number': `${head}content-length: 1x\r\n\r\nab`,
      'a negative length': `${head}content-length: -1\r\n\r\nab`,
      'ten thousand headers': `${head}${'x: y\r\n'.repeat(10_000)}content-length: 1\r\n\r\na`,
      'HTTP/2 without being asked': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'no HTTP': 'SSH-2.0-OpenSSH_9.0\r\n',
      nothing: '',
    };
    for (const status of [201, 204, 206, 300, 304, 305, 404, 500])
      failing[`a ${status}`] = `HTTP/1.1 ${status} x\r\nlocation: /b\r\ncontent-length: 1\r\n\r\na`;
    for (const [name, text] of Object.entries(failing))
      it(`fails on ${name}`, async () => {
        say('/bad', text);
        const error = await rejection(get('/bad'));
        expect(error).to.be.instanceOf(GatewayError).with.property('code', 'source_failed');
        expect(error.message).to.match(/\.$/).and.not.include('127.0.0.1');
        const [, status] = /^a (\d{3})$/.exec(name) ?? [];
        if (status) expect(error.message).to.equal(`The server behind the url answered ${status}.`);
      });

    it('fails when the connection is reset in the middle', async () => {
      routes['/reset'] = (socket) =>
        socket.write(`${head}content-length: 10\r\n\r\nabc`, () => socket.resetAndDestroy());
      expect(await codeOf(get('/reset'))).to.equal('source_failed');
    });

    it('fails when nothing listens', async () => {
      const gone = await startRawServer(() => {});
      await gone.close();
      const lost = create({ origins: [gone.origin] });
      expect(await codeOf(lost.fetch(lost.check(gone.origin)))).to.equal('source_failed');
    });
  });

  describe('bounds', () => {
    const file = (size: number, count = 1) =>
      `${chunked}${`${size.toString(16)}\r\n${'a'.repeat(size)}\r\n`.repeat(count)}0\r\n\r\n`;
    const headOf = (bytes: number) => `${head}x: ${'a'.repeat(bytes)}\r\ncontent-length: 3\r\n\r\nabc`;
    const hints = (bytes: number) => hint.repeat(Math.ceil(bytes / hint.length));

    it('accept a file of exactly their size and refuse one byte more, announced or not', async () => {
      const small = create({ maxBytes: 1000 });
      for (const answer of [(size: number) => ok('a'.repeat(size)), file]) {
        say('/exact', answer(1000));
        say('/over', answer(1001));
        expect(await get('/exact', small)).to.have.length(1000);
        expect(await codeOf(get('/over', small))).to.equal('image_too_large');
      }
    });

    const floods: Record<string, [start: string, more: string, code: string]> = {
      'an endless body': [`${head}\r\n`, 'a'.repeat(10_000), 'image_too_large'],
      'endless chunks of one byte': [chunked, '1\r\na\r\n'.repeat(1000), 'source_failed'],
      'endless chunk extensions': [`${chunked}1;`, 'x=y;'.repeat(1000), 'source_failed'],
      'endless trailers': [`${chunked}1\r\na\r\n0\r\n`, 'x: y\r\n'.repeat(1000), 'source_failed'],
      'endless interim responses': ['', hint.repeat(100), 'source_failed'],
      'an endless header': [`${head}x: `, 'a'.repeat(10_000), 'source_failed'],
      'an endless status line': ['HTTP/1.1 200 ', 'a'.repeat(10_000), 'source_failed'],
      'endless empty lines': ['', '\r\n'.repeat(10_000), 'source_failed'],
    };
    for (const [name, [start, more, code]] of Object.entries(floods))
      it(`end ${name}`, async () => {
        routes['/flood'] = (socket) => {
          socket.write(start);
          const pump = () => {
            while (!socket.destroyed && socket.write(more));
            if (!socket.destroyed) socket.once('drain', pump);
          };
          pump();
        };
        expect(await codeOf(get('/flood'))).to.equal(code);
      });

    it('leave 64 KB besides a file, over all redirects together, of which the text does not count', async () => {
      say('/some', hints(50_000) + ok('abc'));
      say('/many', hints(300_000) + ok('abc'));
      expect(await textOf('/some')).to.equal('abc');
      expect((await rejection(get('/many'))).message).to.include('besides a file');
      const page = 'a'.repeat(60_000);
      const withText = (to: string) =>
        redirect(to).replace('length: 0\r\n\r\n', `length: ${page.length}\r\n\r\n${page}`);
      say('/hop0', ok('there'));
      for (let hop = 1; hop <= 3; hop++) {
        say(`/hop${hop}`, hints(25_000) + redirect(`/hop${hop - 1}`));
        say(`/page${hop}`, withText(hop === 1 ? '/hop0' : `/page${hop - 1}`));
      }
      for (const path of ['/hop2', '/page3']) expect(await textOf(path)).to.equal('there');
      expect(await codeOf(get('/hop3'))).to.equal('source_failed');
    });

    it('leave as much as chunks of a hundred bytes need, and not what chunks of one byte do', async () => {
      const large = create({ maxBytes: 2_000_000 });
      say('/file', file(100, 15_000));
      expect(await get('/file', large)).to.have.length(1_500_000);
      say('/file', file(1, 300_000));
      expect(await codeOf(get('/file', large))).to.equal('source_failed');
    });

    it('leave 16 KB for each head', async () => {
      say('/head', headOf(16_000));
      say('/long-head', headOf(17_000));
      say('/unfinished-head', headOf(17_000).slice(0, 17_010));
      expect(await textOf('/head')).to.equal('abc');
      for (const path of ['/long-head', '/unfinished-head'])
        expect((await rejection(get(path))).message).to.include('headers of more than 16384 bytes');
    });
  });

  describe('the deadline', () => {
    const slow: Record<string, (socket: Socket) => void> = {
      'never answers': () => {},
      'stops in its headers': (socket) => socket.write(`${head}x-a: `),
      'stops in its body': (socket) => socket.write(`${head}content-length: 10\r\n\r\na`),
      'drips a byte every 20 ms': (socket) => {
        socket.write(`${head}content-length: 10000\r\n\r\n`);
        const timer = setInterval(() => socket.write('a'), 20);
        socket.on('close', () => clearInterval(timer));
      },
      'redirects slowly': (socket) => setTimeout(() => socket.end(redirect('/slow')), 120),
    };
    for (const [name, answer] of Object.entries(slow))
      it(`ends a server that ${name}`, async () => {
        routes['/slow'] = answer;
        expect(await codeOf(get('/slow', create({ timeoutMs: 300 })))).to.equal('source_timeout');
      });

    it('covers a name server that never answers', async () => {
      const dark = create({ timeoutMs: 100, resolve: () => new Promise(() => {}) });
      expect(await codeOf(dark.fetch(dark.check('https://example.com/')))).to.equal('source_timeout');
    });
  });

  describe('onProgress', () => {
    it('is called for each head, then for every chunk of the file, and not for what gives no head', async () => {
      say('/from', redirect('/to'));
      let next = () => {};
      routes['/to'] = (socket) => {
        socket.write(`${hint}${head}content-length: 6\r\n\r\nabc`);
        next = () => socket.end('def');
      };
      const seen: number[] = [];
      const onProgress = (bytes: number) => {
        if (seen.push(bytes) === 3) next();
      };
      await fetch('/from', { onProgress });
      say('/nothing', hint);
      await rejection(fetch('/nothing', { onProgress }));
      expect(seen).to.deep.equal([0, 0, 3, 3]);
    });

    it('ends the download and nothing else where it throws', async () => {
      say('/file', ok('abc'));
      await rejection(fetch('/file', { onProgress: () => expect.fail('oops') }));
    });
  });

  it('holds nothing of a download that was aborted, while its signal lives on', async () => {
    const size = 8_000_000;
    const start = Buffer.from(`${head}content-length: 9000000\r\n\r\n`);
    routes['/large'] = (socket) => void socket.write(Buffer.concat([start, Buffer.alloc(size)]));
    const source = create({ maxBytes: 10_000_000 });
    const before = heldMemory();
    const callers = Array.from({ length: 5 }, () => new AbortController());
    for (const caller of callers) {
      let left = size;
      const onProgress = (bytes: number) => {
        left -= bytes;
        if (left === 0) caller.abort(new Error('enough'));
      };
      const { message } = await rejection(fetch('/large', { signal: caller.signal, onProgress }, source));
      expect(message).to.equal('enough');
    }
    expect(await heldBeyond(before, 9_000_000)).to.be.below(9_000_000);
    expect(callers).to.have.length(5);
  });
});
