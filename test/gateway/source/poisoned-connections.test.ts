import type { Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Source } from '../../../gateway/source/fetch.js';
import { until } from '../../until.js';
import { bytesFrom } from './bytes-from.js';
import { deliver, ok } from './raw-server.js';
import { serveRoutes } from './routes.js';

const body = 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n';
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n';

describe('createSource, with connections that a server would poison', () => {
  let source: Source;
  let before: number;
  // Before the hook of the routes, which sees that every connection is closed.
  afterEach(() => source.close());
  const { routes, create, server } = serveRoutes();
  beforeEach(() => {
    source = create();
    before = server().accepted();
    routes['/ok'] = (socket) => void socket.write(ok('abc'));
  });

  const opened = () => server().accepted() - before;
  const get = async (path: string) => {
    const bytes = await bytesFrom(source, source.check(server().origin + path), { tenant: 'a' });
    return Buffer.from(bytes).toString();
  };

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
