import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { defineHelper, fail, invalidInput } from '../../gateway/helper.js';
import { until } from '../needs.js';
import { type Answer, contextKey as secret, shareGateway, type TestGateway } from './harness.js';

const picture = readFileSync(new URL('../../../plugins/media/example.jpg', import.meta.url));
const jpeg = () => new Blob([picture], { type: 'image/jpeg' });

/** What stands for the web: a page, a picture, and a service that wants a key. */
function answerAsWeb(request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://web');
  const to = url.searchParams.get('to');
  if (url.pathname === '/page') {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title> A page </title>');
  } else if (url.pathname === '/table.csv') {
    response.writeHead(200, { 'content-type': 'text/csv; charset=utf-8' }).end('a,b\n1,2\n');
  } else if (url.pathname === '/picture') response.writeHead(200).end(picture);
  else if (url.searchParams.get('key') !== 'top-secret') response.writeHead(401).end();
  else if (to === 'es') response.writeHead(404).end();
  else response.writeHead(200).end(JSON.stringify({ text: `${url.searchParams.get('q')} in ${to}` }));
}

describe('helpers as people write them', () => {
  let origin: string;
  let test: TestGateway;

  before(async () => {
    ({ api: test, origin } = await shareGateway(answerAsWeb));
  });

  const upload = (path: string, fields: Record<string, string | Blob>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    return test.call(path, { body: form });
  };
  const text = ({ bytes }: Answer) => Buffer.from(bytes).toString();

  it('draw a QR code', async () => {
    const answer = await test.call('/text/qr-code?text=hello');
    expect(answer.headers.get('content-type')).to.equal('image/svg+xml');
    expect(text(answer)).to.match(/^<svg /);
  });

  it('answer with HTML, in a dry run too', async () => {
    const answer = await test.call('/text/markdown', { body: { markdown: '# Hi', dryrun: true } });
    expect(answer.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(text(answer)).to.equal('<h1>Hi</h1>\n');
  });

  it('are TypeScript, and write to the log', async () => {
    const answer = await test.call('/text/shout?text=hi&tone=louder');
    expect(answer.json.data).to.deep.equal({ text: 'H I!' });
    const id = answer.json.meta.request_id;
    const line = test.log.find(({ msg, request_id }) => msg === 'shouted' && request_id === id);
    expect(line).to.include({ service: 'text/shout', tone: 'louder' });
  });

  it('use a service with a key, and tell what it could not do', async () => {
    const call = (body: Record<string, unknown>) => test.call('/text/translate', { body });
    expect((await call({ text: 'tea', to: 'fr' })).json.data).to.deep.equal({ text: 'tea in fr', to: 'fr' });
    const missing = await call({ text: 'tea', to: 'es' });
    expect([missing.status, missing.json.error]).to.deep.equal([
      404,
      { code: 'not_found', message: 'There is no translation into es.' },
    ]);
  });

  it('fetch through the download guard', async () => {
    const page = (address: string) => test.call('/web/page-title', { body: { page: address } });
    expect((await page(`${origin}/page`)).json.data).to.deep.equal({ title: 'A page', status: 200 });
    expect((await page('http://127.0.0.1:1/')).json.error.code).to.equal('source_refused');
    const other = await page(`${origin}/table.csv`);
    expect(other.json.error.details[0].field).to.equal('page');
  });

  it('take a file that is no picture, uploaded or by its url', async () => {
    const rows = [{ a: '1', b: '2' }];
    const uploaded = await upload('/data/csv', {
      table: new Blob(['a;b\n1;2\n'], { type: 'text/csv' }),
      options: '{"delimiter":";"}',
    });
    expect(uploaded.json.data).to.deep.equal({ columns: ['a', 'b'], rows });
    const byUrl = await test.call(`/data/csv?table=${encodeURIComponent(`${origin}/table.csv`)}`);
    expect(byUrl.json.data.rows).to.deep.equal(rows);
    const wrong = await upload('/data/csv', { table: jpeg() });
    expect(wrong.json.error.details).to.have.length(1);
    expect(wrong.json.error.details[0].problem).to.contain('text/csv').and.to.contain('image/jpeg');
    expect((await test.call('/data/csv')).json.error.details[0].field).to.equal('table');
  });

  it('make something ready before the first call', async () => {
    expect((await test.call('/data/look-up?word=Helper')).json.data).to.deep.equal({ meaning: 'Who helps.' });
    expect((await test.call('/data/look-up?word=x')).status).to.equal(404);
  });

  it('judge only the branch that is meant, and name nested fields', async () => {
    const area = (shape: object) => test.call('/data/area', { body: { shape } });
    expect((await area({ kind: 'box', width: 2, height: 3 })).json.data).to.deep.equal({ area: 6 });
    expect(
      (await area({ kind: 'circle' })).json.error.details.map(({ field }: { field: string }) => field),
    ).to.deep.equal(['shape.r']);
  });

  it('name the file that they answer with', async () => {
    const items = [{ name: 'Tea', cents: 250 }];
    const answer = await test.call('/data/invoice', { body: { number: 7, items } });
    expect(answer.headers.get('content-disposition')).to.equal('attachment; filename="invoice-7.txt"');
    expect(text(answer)).to.equal('Invoice 7\nTea\t2.50\n');
    const twice = await test.call('/data/invoice', { body: { number: 7, items: [...items, ...items] } });
    expect([twice.status, twice.json.error.code]).to.deep.equal([409, 'conflict']);
    const bad = await test.call('/data/invoice', {
      body: { number: 7, items: [{ name: 'Tea', cents: -1 }] },
    });
    expect(bad.json.error.details[0].field).to.equal('items.0.cents');
  });

  it('resize a picture', async () => {
    const answer = await upload('/media/shrink', { file: jpeg(), width: '48' });
    const facts = await upload('/media/facts', { file: new Blob([Buffer.from(answer.bytes)]) });
    expect(facts.json.data).to.include({ format: 'png', width: 48, height: 32 });
  });

  it('cut and turn a picture', async () => {
    const answer = await upload('/media/cut', { file: jpeg(), width: '30', height: '20', turn: '90' });
    const facts = await upload('/media/facts', { file: new Blob([Buffer.from(answer.bytes)]) });
    expect(facts.json.data).to.include({ width: 20, height: 30 });
  });

  it('lay several pictures together, from uploads and urls', async () => {
    const answer = await upload('/media/collage', {
      base: jpeg(),
      second: jpeg(),
      third: `${origin}/picture`,
    });
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'image/png']);
  });

  it('say what a picture is, and give it back as it came', async () => {
    const facts = await upload('/media/facts', { file: jpeg() });
    const sha256 = createHash('sha256').update(picture).digest('hex');
    expect(facts.json.data).to.include({ format: 'jpg', sha256 });
    const original = await upload('/media/facts', { file: jpeg(), original: '1' });
    expect(Buffer.compare(Buffer.from(original.bytes), picture)).to.equal(0);
  });
});

describe('the public interface', () => {
  it('gives a declaration back as it is', () => {
    const handler = () => ({});
    const declaration = { summary: 'Some.', input: { type: 'object' }, handler } as const;
    expect(defineHelper(declaration)).to.equal(declaration);
  });

  it('makes the error of input that a schema cannot judge', () => {
    const error = invalidInput('until', 'must lie after since');
    expect(error).to.be.an.instanceOf(Error);
    expect(error).to.include({ message: 'until must lie after since', code: 'invalid_input' });
    expect(error).to.have.deep.property('details', [{ field: 'until', problem: 'must lie after since' }]);
  });

  it('makes the errors of the world outside, whose message is public', () => {
    for (const code of ['not_found', 'conflict', 'upstream_failed'] as const) {
      const error = fail(code, 'There is no such page.');
      expect(error).to.be.an.instanceOf(Error);
      expect(error).to.include({ code, message: 'There is no such page.', expose: true });
    }
  });

  it('tells an author of JavaScript which errors there are', () => {
    // @ts-expect-error: it is what types would refuse
    expect(() => fail('teapot', 'x')).to.throw(
      TypeError,
      /no code "teapot"; write one of not_found, conflict/,
    );
  });
});

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
