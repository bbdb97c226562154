import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { Answer, TestGateway } from './harness.js';
import { shareGateway } from './shared.js';

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
