import { expect } from 'chai';
import { gauge, operatorToken } from './gate.js';
import type { TestGateway } from './harness.js';
import { shareGateway } from './shared.js';

const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

const long = 'this text is longer than 20 bytes';

describe('files of a helper', () => {
  let api: TestGateway;
  let origin: string;
  const accepts = new Map<string, string | undefined>();
  /** The paths that the server was asked for. */
  const asked: string[] = [];

  before(async () => {
    ({ api, origin } = await shareGateway(({ url = '', headers }, response) => {
      accepts.set(url, headers.accept);
      asked.push(url);
      if (url === '/no') response.writeHead(404).end('no');
      else if (url === '/untyped') response.end('untyped');
      else if (url.startsWith('/fresh/')) {
        response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'max-age=600' });
        response.end(url === '/fresh/short' ? 'short' : long);
      } else if (url === '/page')
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<p>');
      else if (url === '/sheet') response.writeHead(200, { 'content-type': 'text/csv' }).end('a,'.repeat(50));
      else response.writeHead(200, { 'content-type': 'Application/PDF' }).end('%PDF');
    }));
  });

  const byUrl = (urls: Record<string, string>) =>
    api.call(
      `/reads?${new URLSearchParams(Object.entries(urls).map(([name, path]) => [name, origin + path]))}`,
    );

  function upload(field: string, bytes: string | Uint8Array, type: string) {
    const form = new FormData();
    form.set(field, new Blob([bytes as BlobPart], { type }), 'given');
    return api.call('/reads', { body: form });
  }

  it('have type and name of where they came from', async () => {
    const { json } = await byUrl({ letter: '/a%20b/le%C3%9Fer.pdf?x=1', any: '/untyped' });
    expect(json.data).to.deep.equal({
      letter: { type: 'Application/PDF', name: 'leßer.pdf', text: '%PDF' },
      any: { type: 'application/octet-stream', name: 'untyped', text: 'untyped' },
    });
    expect(accepts.get('/a%20b/le%C3%9Fer.pdf?x=1')).to.equal('application/pdf, text/*');
    expect(accepts.get('/untyped')).to.equal('*/*');
    expect((await upload('letter', 'hello', 'text/plain')).json.data).to.deep.equal({
      letter: { type: 'text/plain', name: 'given', text: 'hello' },
    });
  });

  it('are of the types that their field takes', async () => {
    const allowed = 'allowed are application/pdf, text/*';
    const uploaded = await upload('letter', 'x', 'image/x');
    expect(uploaded.status).to.equal(400);
    expect(uploaded.json.error.details).to.deep.equal([
      { field: 'letter', problem: `is a file of the type image/x; ${allowed}` },
    ]);
    const fetched = await byUrl({ letter: '/untyped' });
    expect(fetched.json.error.details).to.deep.equal([
      { field: 'letter', problem: `leads to a file of the type application/octet-stream; ${allowed}` },
    ]);
    expect((await byUrl({ letter: '/page' })).status).to.equal(200);
  });

  it('are of the type that their bytes say where they are pictures', async () => {
    const { status, json } = await upload('logo', gif, 'image/png');
    expect([status, json.error.details]).to.deep.equal([
      400,
      [{ field: 'logo', problem: 'is a file of the type image/gif; allowed is image/png' }],
    ]);
    expect((await upload('logo', png, 'text/plain')).json.data).to.deep.equal({ logo: { width: 1 } });
    const broken = await upload('logo', 'no picture', 'image/png');
    expect([broken.status, broken.json.error.code]).to.deep.equal([422, 'bad_image']);
    expect(broken.json.error.message).to.match(/^logo: /);
  });

  it('are no larger than their field takes', async () => {
    const uploaded = await upload('letter', 'x'.repeat(21), 'text/plain');
    expect([uploaded.status, uploaded.json.error.code]).to.deep.equal([413, 'too_large']);
    expect(uploaded.json.error.message).to.equal('letter: The file has 21 bytes; 20 are accepted.');
    const fetched = await byUrl({ letter: '/sheet' });
    expect([fetched.status, fetched.json.error.code]).to.deep.equal([422, 'image_too_large']);
    expect(fetched.json.error.message).to.match(/^letter: The file at the url is larger than the 20 bytes/);
  });

  it('are named where they cannot be fetched', async () => {
    const { json } = await byUrl({ any: '/no' });
    expect(json.error).to.deep.include({
      code: 'source_failed',
      message: 'any: The server behind the url answered 404.',
    });
  });

  describe('that calls name by their urls', () => {
    beforeEach(() => {
      asked.length = 0;
    });

    const read = (path: string, field = 'any', key = api.key) =>
      api.call(`/reads?${new URLSearchParams({ [field]: origin + path })}`, { key });

    /** A key of a tenant of its own. */
    async function keyOf(name: string): Promise<string> {
      const post = async (path: string, body: object) => {
        const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' };
        const url = new URL(path, api.gateway.connectUrl);
        return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json();
      };
      await post('/api/tenants', { name });
      return (await post(`/api/tenants/${name}/keys`, {})).data.key;
    }

    it('are downloaded once while they are fresh, and are what they were for each worker', async () => {
      for (let round = 0; round < 3; round++) {
        const { json } = await read('/fresh/a.txt');
        expect(json.data.any.text).to.equal(long);
        expect(json.data.any).to.include({ type: 'text/plain', name: 'a.txt' });
      }
      expect(asked).to.deep.equal(['/fresh/a.txt']);
      expect(await gauge(api.gateway.connectUrl, 'input_bytes')).to.equal(0);
      expect(await gauge(api.gateway.connectUrl, 'cache_entries')).to.be.at.least(1);
    });

    it('are held against each field that takes them', async () => {
      const accepted = await read('/fresh/bound', 'any');
      expect(accepted.status).to.equal(200);
      const { json } = await read('/fresh/bound', 'letter');
      expect(json.error).to.include({ code: 'image_too_large' });
      expect(json.error.message).to.match(/^letter: /);
    });

    it('may be kept, new and uploaded in one call', async () => {
      await read('/fresh/kept');
      const urls = { any: `${origin}/fresh/kept`, letter: `${origin}/fresh/short` };
      for (let round = 0; round < 2; round++) {
        const { json } = await api.call(`/reads?${new URLSearchParams(urls)}`);
        expect([json.data.any.text, json.data.letter.text]).to.deep.equal([long, 'short']);
      }
      expect(asked).to.deep.equal(['/fresh/kept', '/fresh/short']);
      const form = new FormData();
      form.set('letter', new Blob(['mine'], { type: 'text/plain' }), 'given');
      const { json } = await api.call(`/reads?any=${encodeURIComponent(urls.any)}`, { body: form });
      expect([json.data.any.text, json.data.letter.text]).to.deep.equal([long, 'mine']);
      expect(asked).to.have.length(2);
    });

    it('are downloaded for each tenant alone', async () => {
      await read('/fresh/mine');
      await read('/fresh/mine', 'any', await keyOf('other'));
      await read('/fresh/mine');
      expect(asked).to.deep.equal(['/fresh/mine', '/fresh/mine']);
    });
  });
});
