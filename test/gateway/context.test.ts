import type { Server, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { until } from '../until.js';
import type { TestGateway } from './harness.js';
import { contextKey as secret, shareGateway } from './shared.js';

describe('what a handler may use', () => {
  let api: TestGateway;
  let server: Server;
  let origin: string;
  let accepts: (string | undefined)[];
  let open: number;
  /** Answers that wait until there are eight of them; undefined once there were. */
  let waiting: ServerResponse[] | undefined;

  function count(response: ServerResponse): void {
    if (!waiting) return void response.end(String(open));
    waiting.push(response);
    if (waiting.length !== 8) return;
    // Time for a ninth to come.
    setTimeout(() => {
      for (const each of waiting ?? []) each.end(String(open));
      waiting = undefined;
    }, 20);
  }

  before(async () => {
    ({
      api,
      web: server,
      origin,
    } = await shareGateway((request, response) => {
      accepts.push(request.headers.accept);
      open += 1;
      if (request.url === '/hang') return;
      if (request.url === '/redirect') response.writeHead(302, { location: '/404' }).end();
      else if (request.url === '/encoded') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
      else if (request.url === '/count') count(response);
      else response.writeHead(404, { 'X-Own': ['a', 'b'] }).end('none here');
      response.once('close', () => (open -= 1));
    }));
  });

  beforeEach(() => {
    accepts = [];
    open = 0;
    waiting = [];
  });

  for (const place of ['in-pool', 'in-line']) {
    describe(place, () => {
      const call = (does: string, more = {}, path = place) =>
        api.call(`/${path}?${new URLSearchParams({ does, ...more })}`);

      /** Lines that the handler wrote, once `count` are there. */
      async function lines(count: number): Promise<Record<string, unknown>[]> {
        const own = () =>
          api.log.filter(({ service, msg }) => service === place && !/^call/.test(String(msg)));
        await until(() => own().length >= count);
        return own();
      }

      /** What the handler noted for later, once there is something. */
      async function late(): Promise<string[]> {
        return until(async () => {
          const { json } = await call('late');
          return json.data.late.length > 0 ? json.data.late : undefined;
        });
      }

      beforeEach(() => api.log.splice(0));

      it('its configuration and what its setup made', async () => {
        const { json } = await call('told');
        expect(json.data).to.deep.equal({
          region: 'eu',
          key: secret.length,
          state: { made: true, region: 'eu' },
          service: place,
        });
        expect((await call('told', { dryrun: '1' })).json.data).to.deep.equal({
          state: { made: true, region: 'eu' },
        });
      });

      it('of which JSON of the whole context tells nothing', async () => {
        const { json } = await call('whole');
        expect(json.data.context).to.have.all.keys('service', 'request_id');
      });

      it('a log, whose lines are the gateway’s', async () => {
        const { json } = await call('log');
        const [hello, child, error, broken] = await lines(4);
        const ids = { service: place, request_id: json.meta.request_id };
        expect(hello).to.include({ ...ids, level: 30, a: 1, msg: 'hello you', key: '[secret]' });
        expect(child).to.include({ ...ids, level: 40, part: 'x' });
        expect(error).to.include({ ...ids, level: 50, msg: 'out of it' });
        expect(error?.err).to.include({ name: 'RangeError' });
        expect(broken?.msg).to.match(/cannot be written/);
        expect(JSON.stringify(api.log)).not.to.include('not to be seen').and.not.to.include(secret);
      });

      it('a log that is bounded', async () => {
        await call('logs');
        const written = await lines(1001);
        expect(written).to.have.length(1001);
        expect(written.at(-1)?.msg).to.match(/more than 1000 lines/);
      });

      it('a fetch that gives any status', async () => {
        const { json } = await call('fetch', { url: `${origin}/redirect` });
        expect(json.data).to.deep.equal({ status: 404, own: 'a, b', text: 'none here' });
        expect(accepts).to.deep.equal(['text/x', 'text/x']);
      });

      for (const [url, status, code] of [
        ['https://127.0.0.1/', 400, 'source_refused'],
        ['nonsense', 400, 'source_refused'],
        ['/encoded', 502, 'source_failed'],
      ] as const) {
        it(`a fetch whose refusal is told where nobody catches it: ${url}`, async () => {
          const at = { url: url.startsWith('/') ? origin + url : url };
          const refused = await call('fetch', at);
          expect([refused.status, refused.json.error.code]).to.deep.equal([status, code]);
          expect((await call('catch', at)).json.data).to.deep.equal({ code });
        });
      }

      it('a fetch of so many bytes and no more', async () => {
        const { json } = await call('fetch', { url: `${origin}/`, most: '3' });
        expect(json.error.code).to.equal('image_too_large');
      });

      it('no more than eight fetches at a time', async () => {
        expect((await call('many', { url: `${origin}/count` })).json.data.most).to.equal(8);
      });

      it('no fetch once it has answered', async () => {
        await call('after', { url: `${origin}/` });
        expect(await late()).to.deep.equal(['internal']);
        expect(accepts).to.deep.equal([]);
      });

      it('no error of the gateway’s that is not the gateway’s', async () => {
        const { json } = await call('forge');
        expect(json.error.code).to.equal('internal');
        const altered = await call('alter', { url: 'https://127.0.0.1/' });
        expect(altered.json.error.code).to.equal('source_refused');
        expect(altered.json.error.message).not.to.include('forged');
      });

      it('an error of its own', async () => {
        const { status, json } = await call('fail');
        expect([status, json.error.code, json.error.message]).to.deep.equal([
          409,
          'conflict',
          'It is taken.',
        ]);
      });

      it('nothing by which a secret comes into the log', async () => {
        expect((await call('tell')).status).to.equal(500);
        await until(() => api.log.some(({ level }) => level === 50));
        expect(JSON.stringify(api.log)).to.include('key=[secret]').and.not.to.include(secret);
      });

      for (const does of ['wait', 'spin', 'fetch']) {
        it(`a deadline of its own, past which its call is 504: ${does}`, async () => {
          const { status, json } = await call(
            does,
            does === 'fetch' ? { url: `${origin}/hang` } : {},
            `soon-${place}`,
          );
          expect([status, json.error.code]).to.deep.equal([504, 'helper_timeout']);
          if (does === 'wait') expect(await late()).to.deep.equal(['TimeoutError']);
        });
      }

      it('a signal that tells of a client that has gone', async () => {
        const gone = new AbortController();
        server.once('request', () => setImmediate(() => gone.abort()));
        await api
          .call(`/${place}?does=wait&url=${origin}/`, { signal: gone.signal })
          .catch((error: Error) => expect(error.name).to.equal('AbortError'));
        expect(await late()).to.deep.equal(['AbortError']);
      });
    });
  }
});
