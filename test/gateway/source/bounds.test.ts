import type { Socket } from 'node:net';
import { expect } from 'chai';
import { ok, redirect } from './raw-server.js';
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
