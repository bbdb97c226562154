import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { startTestGateway, type TestGateway } from './harness.js';

const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

describe('files of a helper', () => {
  let api: TestGateway;
  let server: Server;
  let origin: string;
  const accepts = new Map<string | undefined, string | undefined>();

  before(async () => {
    server = createServer(({ url, headers }, response) => {
      accepts.set(url, headers.accept);
      if (url === '/no') response.writeHead(404).end('no');
      else if (url === '/untyped') response.end('untyped');
      else if (url === '/page')
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<p>');
      else if (url === '/sheet') response.writeHead(200, { 'content-type': 'text/csv' }).end('a,'.repeat(50));
      else response.writeHead(200, { 'content-type': 'Application/PDF' }).end('%PDF');
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    api = await startTestGateway({
      HELPER_PLUGINS: fixture('plugins/files'),
      HELPER_SOURCE_ORIGINS: origin,
    });
  });

  after(async () => {
    await api.close();
    server.close();
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
});
