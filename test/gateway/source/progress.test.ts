import { expect } from 'chai';
import { heldBeyond, heldMemory } from '../../held-memory.js';
import { bytesFrom } from './bytes-from.js';
import { redirect, rejection } from './raw-server.js';
import { serveRoutes } from './routes.js';

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
