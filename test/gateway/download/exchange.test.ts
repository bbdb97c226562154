import type { Socket } from 'node:net';
import { expect } from 'chai';
import { ok, redirect, rejection } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('createSource', () => {
  const { routes, create, say, get, codeOf } = serveRoutes();

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
});

describe('createSource', () => {
  const { create, say, get, codeOf } = serveRoutes();

  describe('what is no file', () => {
    const hints = (bytes: number) => {
      const one = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n';
      return one.repeat(Math.ceil(bytes / one.length));
    };

    it('is 64 KB before the final head at most', async () => {
      say('/some', Buffer.concat([Buffer.from(hints(50_000)), ok('abc') as Buffer]));
      say('/many', Buffer.concat([Buffer.from(hints(300_000)), ok('abc') as Buffer]));
      expect(await get('/some')).to.have.length(3);
      const error = await rejection(get('/many'));
      expect(error)
        .to.include({ code: 'source_failed' })
        .with.property('message')
        .that.includes('besides a file');
    });

    it('is counted over all redirects together', async () => {
      for (let hop = 1; hop <= 3; hop++) say(`/hop${hop}`, hints(25_000) + redirect(`/hop${hop - 1}`));
      say('/hop0', ok('there'));
      expect(await get('/hop2')).to.have.length(5);
      expect(await codeOf(get('/hop3'))).to.equal('source_failed');
    });

    it('is not the text that comes with a redirect', async () => {
      const page = 'a'.repeat(60_000);
      for (let hop = 1; hop <= 3; hop++) {
        say(
          `/page${hop}`,
          `HTTP/1.1 302 Found\r\nlocation: /page${hop - 1}\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
        );
      }
      say('/page0', ok('there'));
      expect(await get('/page3')).to.have.length(5);
    });

    it('is as much as chunks of a hundred bytes need, and not what chunks of one byte do', async () => {
      const large = create({ maxBytes: 2_000_000 });
      const chunks = (size: number, count: number) =>
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${`${size.toString(16)}\r\n${'a'.repeat(size)}\r\n`.repeat(count)}0\r\n\r\n`;
      say('/hundred', chunks(100, 15_000));
      say('/one', chunks(1, 300_000));
      expect(await get('/hundred', large)).to.have.length(1_500_000);
      expect(await codeOf(get('/one', large))).to.equal('source_failed');
    });

    it('is 16 KB for each head', async () => {
      const head = (bytes: number) =>
        `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(bytes)}\r\ncontent-length: 3\r\n\r\nabc`;
      say('/head', head(16_000));
      say('/long-head', head(17_000));
      say('/unfinished-head', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(17_000)}`);
      expect(await get('/head')).to.have.length(3);
      for (const path of ['/long-head', '/unfinished-head']) {
        expect((await rejection(get(path))).message).to.include('headers of more than 16384 bytes');
      }
    });

    it('may be a status line without an end, and that is an end', async () => {
      say('/status', `HTTP/1.1 200 ${'a'.repeat(500_000)}`);
      expect(await codeOf(get('/status'))).to.equal('source_failed');
    });
  });

  describe('a redirect', () => {
    const locations: Record<string, [string, RegExp]> = {
      'is too long': [`/${'a'.repeat(9000)}`, /Location is longer than the 8192 characters/],
      'is too long once it is percent-encoded': [
        `/${'ä'.repeat(1500)}`,
        /Location is longer than the 8192 characters/,
      ],
      'is longer than headers may be': [`/${'a'.repeat(20_000)}`, /headers of more than 16384 bytes/],
      'is no url': ['https://exa mple.com/', /Location is a string, but not a url/],
      'has a backslash': ['\\\\example.com\\', /Location has a control character .* or a backslash/],
    };
    for (const [name, [location, message]] of Object.entries(locations)) {
      it(`whose Location ${name} is the source's fault`, async () => {
        say('/redirect', redirect(location));
        const error = await rejection(get('/redirect'));
        expect(error).to.include({ code: 'source_failed' }).with.property('message').that.matches(message);
        expect(error).to.have.property('details', undefined);
      });
    }
  });
});
