import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { fail } from '../../gateway/helper.js';
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

  const post = (path: string, body: Record<string, unknown>) => test.call(path, { body });
  const upload = (path: string, fields: Record<string, string | Blob>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    return test.call(path, { body: form });
  };
  const text = ({ bytes }: Answer) => Buffer.from(bytes).toString();
  const factsOf = async ({ bytes }: Answer) =>
    (await upload('/media/facts', { file: new Blob([Buffer.from(bytes)]) })).json.data;
  const fieldsOf = ({ json }: Answer) => json.error.details.map(({ field }: { field: string }) => field);

  it('answer with HTML, in a dry run too', async () => {
    const answer = await post('/text/markdown', { markdown: '# Hi', dryrun: true });
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

  it('use a service with a key, and say what it could not do', async () => {
    const fr = await post('/text/translate', { text: 'tea', to: 'fr' });
    expect(fr.json.data).to.deep.equal({ text: 'tea in fr', to: 'fr' });
    const { status, json } = await post('/text/translate', { text: 'tea', to: 'es' });
    const error = { code: 'not_found', message: 'There is no translation into es.' };
    expect([status, json.error]).to.deep.equal([404, error]);
  });

  it('fetch through the download guard', async () => {
    const page = (address: string) => post('/web/page-title', { page: address });
    expect((await page(`${origin}/page`)).json.data).to.deep.equal({ title: 'A page', status: 200 });
    expect((await page('http://127.0.0.1:1/')).json.error.code).to.equal('source_refused');
    expect(fieldsOf(await page(`${origin}/table.csv`))).to.deep.equal(['page']);
  });

  it('accept a file that is no picture, uploaded or by its url', async () => {
    const rows = [{ a: '1', b: '2' }];
    const table = new Blob(['a;b\n1;2\n'], { type: 'text/csv' });
    const uploaded = await upload('/data/csv', { table, options: '{"delimiter":";"}' });
    expect(uploaded.json.data).to.deep.equal({ columns: ['a', 'b'], rows });
    const byUrl = await test.call(`/data/csv?table=${encodeURIComponent(`${origin}/table.csv`)}`);
    expect(byUrl.json.data.rows).to.deep.equal(rows);
    const wrong = await upload('/data/csv', { table: jpeg() });
    expect(wrong.json.error.details).to.have.length(1);
    expect(wrong.json.error.details[0].problem).to.contain('text/csv').and.to.contain('image/jpeg');
    expect(fieldsOf(await test.call('/data/csv'))).to.deep.equal(['table']);
  });

  it('make something ready before the first call', async () => {
    expect((await test.call('/data/look-up?word=Helper')).json.data).to.deep.equal({ meaning: 'Who helps.' });
    expect((await test.call('/data/look-up?word=x')).status).to.equal(404);
  });

  it('validate only the branch that is meant, and name nested fields', async () => {
    const area = (shape: object) => post('/data/area', { shape });
    expect((await area({ kind: 'box', width: 2, height: 3 })).json.data).to.deep.equal({ area: 6 });
    expect(fieldsOf(await area({ kind: 'circle' }))).to.deep.equal(['shape.r']);
  });

  it('name the file that they answer with', async () => {
    const tea = { name: 'Tea', cents: 250 };
    const invoice = (...items: object[]) => post('/data/invoice', { number: 7, items });
    const answer = await invoice(tea);
    expect(answer.headers.get('content-disposition')).to.equal('attachment; filename="invoice-7.txt"');
    expect(text(answer)).to.equal('Invoice 7\nTea\t2.50\n');
    const twice = await invoice(tea, tea);
    expect([twice.status, twice.json.error.code]).to.deep.equal([409, 'conflict']);
    expect(fieldsOf(await invoice({ name: 'Tea', cents: -1 }))).to.deep.equal(['items.0.cents']);
  });

  it('resize a picture', async () => {
    const shrunk = await upload('/media/shrink', { file: jpeg(), width: '48' });
    expect(await factsOf(shrunk)).to.include({ format: 'png', width: 48, height: 32 });
  });

  it('lay several pictures together, from uploads and urls', async () => {
    const third = `${origin}/picture`;
    const answer = await upload('/media/collage', { base: jpeg(), second: jpeg(), third });
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

it('the public interface names to an author of JavaScript which errors there are', () => {
  // @ts-expect-error: it is what types would refuse
  const thrown = expect(() => fail('teapot', 'x')).to.throw(TypeError);
  thrown.with.property('message').that.includes('no code "teapot"; write one of not_found, conflict');
});

describe('what a handler may use', () => {
  let api: TestGateway;
  let server: Server;
  let origin: string;
  let accepts: (string | undefined)[];
  before(async () => {
    const shared = await shareGateway((request, response) => {
      accepts.push(request.headers.accept);
      if (request.url === '/hang') return;
      if (request.url === '/redirect') response.writeHead(302, { location: '/404' }).end();
      else if (request.url === '/encoded') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
      else response.writeHead(404, { 'X-Own': ['a', 'b'] }).end('none here');
    });
    ({ api, web: server, origin } = shared);
  });

  beforeEach(() => {
    accepts = [];
  });

  for (const place of ['in-pool', 'in-line']) {
    describe(place, () => {
      const call = (does: string, more = {}, path = place) =>
        api.call(`/${path}?${new URLSearchParams({ does, ...more })}`);

      /** What the handler noted for later, once there is something. */
      const late = () =>
        until(async () => {
          const { data } = (await call('late')).json;
          return data.late.length > 0 && data.late;
        });

      beforeEach(() => api.log.splice(0));

      it('its configuration and what its setup made, of which JSON of its whole context holds nothing', async () => {
        const state = { made: true, region: 'eu' };
        const { json } = await call('parts');
        expect(json.data).to.deep.equal({ region: 'eu', key: secret.length, state, service: place });
        expect((await call('parts', { dryrun: '1' })).json.data).to.deep.equal({ state });
        expect((await call('whole')).json.data.context).to.have.all.keys('service', 'request_id');
      });

      it('a log, whose lines are the gateway’s', async () => {
        const { json } = await call('log');
        const own = () =>
          api.log.filter(({ service, msg }) => service === place && !/^call/.test(String(msg)));
        await until(() => own().length === 4);
        const [hello, child, error, broken] = own();
        const ids = { service: place, request_id: json.meta.request_id };
        expect(hello).to.include({ ...ids, level: 30, a: 1, msg: 'hello you', key: '[secret]' });
        expect(child).to.include({ ...ids, level: 40, part: 'x' });
        expect(error).to.include({ ...ids, level: 50, msg: 'out of it' });
        expect(error?.err).to.include({ name: 'RangeError' });
        expect(broken?.msg).to.match(/cannot be written/);
        expect(JSON.stringify(api.log)).not.to.include('not to be seen').and.not.to.include(secret);
      });

      it('a fetch that gives any status', async () => {
        const { json } = await call('fetch', { url: `${origin}/redirect` });
        expect(json.data).to.deep.equal({ status: 404, own: 'a, b', text: 'none here' });
        expect(accepts).to.deep.equal(['text/x', 'text/x']);
      });

      it('a fetch whose refusal is the answer where the handler does not catch it', async () => {
        for (const [url, status, code, most = ''] of [
          ['https://127.0.0.1/', 400, 'source_refused'],
          ['nonsense', 400, 'source_refused'],
          [`${origin}/encoded`, 502, 'source_failed'],
          [`${origin}/`, 422, 'image_too_large', '3'],
        ] as const) {
          const more = { url, ...(most && { most }) };
          const refused = await call('fetch', more);
          expect([refused.status, refused.json.error.code], url).to.deep.equal([status, code]);
          if (!most) expect((await call('catch', more)).json.data).to.deep.equal({ code });
        }
      });

      it('no fetch once it has answered', async () => {
        await call('after', { url: `${origin}/` });
        expect(await late()).to.deep.equal(['internal']);
        expect(accepts).to.deep.equal([]);
      });

      it('an error of its own, and none of the gateway’s that is not the gateway’s', async () => {
        const { status, json } = await call('fail');
        expect([status, json.error]).to.deep.equal([409, { code: 'conflict', message: 'It is taken.' }]);
        expect((await call('forge')).json.error.code).to.equal('internal');
        const altered = await call('alter', { url: 'https://127.0.0.1/' });
        expect(altered.json.error.code).to.equal('source_refused');
        expect(altered.json.error.message).not.to.include('forged');
      });

      it('nothing by which a secret comes into the log', async () => {
        expect((await call('leak')).status).to.equal(500);
        await until(() => api.log.some(({ level }) => level === 50));
        expect(JSON.stringify(api.log)).to.include('key=[secret]').and.not.to.include(secret);
      });

      for (const does of ['wait', 'spin', 'fetch']) {
        it(`a deadline of its own, past which its call is 504: ${does}`, async () => {
          const more = does === 'fetch' ? { url: `${origin}/hang` } : {};
          const { status, json } = await call(does, more, `soon-${place}`);
          expect([status, json.error.code]).to.deep.equal([504, 'helper_timeout']);
          if (does === 'wait') expect(await late()).to.deep.equal(['TimeoutError']);
        });
      }

      it('a signal that is aborted when the client has gone', async () => {
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
