import { expect } from 'chai';
import { GatewayError } from '../../../gateway/errors.js';
import { ok, rejection, startRawServer } from './raw-server.js';
import { serveRoutes } from './routes.js';

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
});
