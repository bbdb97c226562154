import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { gauge, operatorToken } from './gate.js';
import { startTestGateway, type TestGateway } from './harness.js';

const long = 'this text is longer than 20 bytes';

describe('files that calls name by their urls', () => {
  let api: TestGateway;
  let server: Server;
  let origin: string;
  const asked: string[] = [];

  before(async () => {
    server = createServer(({ url = '' }, response) => {
      asked.push(url);
      response.setHeader('content-type', 'text/plain').setHeader('cache-control', 'max-age=600');
      response.end(url === '/short' ? 'short' : long);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    api = await startTestGateway({
      HELPER_PLUGINS: fixture('plugins/files'),
      HELPER_SOURCE_ORIGINS: origin,
      HELPER_OPERATOR_TOKEN: operatorToken,
    });
  });

  beforeEach(() => {
    asked.length = 0;
  });

  after(async () => {
    await api.close();
    server.close();
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
      const { json } = await read('/fresh.txt');
      expect(json.data.any.text).to.equal(long);
      expect(json.data.any).to.include({ type: 'text/plain', name: 'fresh.txt' });
    }
    expect(asked).to.deep.equal(['/fresh.txt']);
    expect(await gauge(api.gateway.connectUrl, 'input_bytes')).to.equal(0);
    expect(await gauge(api.gateway.connectUrl, 'cache_entries')).to.be.at.least(1);
  });

  it('are held against each field that takes them', async () => {
    const accepted = await read('/bound', 'any');
    expect(accepted.status).to.equal(200);
    const { json } = await read('/bound', 'letter');
    expect(json.error).to.include({ code: 'image_too_large' });
    expect(json.error.message).to.match(/^letter: /);
  });

  it('may be kept, new and uploaded in one call', async () => {
    await read('/kept');
    const urls = { any: `${origin}/kept`, letter: `${origin}/short` };
    for (let round = 0; round < 2; round++) {
      const { json } = await api.call(`/reads?${new URLSearchParams(urls)}`);
      expect([json.data.any.text, json.data.letter.text]).to.deep.equal([long, 'short']);
    }
    expect(asked).to.deep.equal(['/kept', '/short']);
    const form = new FormData();
    form.set('letter', new Blob(['mine'], { type: 'text/plain' }), 'given');
    const { json } = await api.call(`/reads?any=${encodeURIComponent(urls.any)}`, { body: form });
    expect([json.data.any.text, json.data.letter.text]).to.deep.equal([long, 'mine']);
    expect(asked).to.have.length(2);
  });

  it('are downloaded for each tenant alone', async () => {
    await read('/mine');
    await read('/mine', 'any', await keyOf('other'));
    await read('/mine');
    expect(asked).to.deep.equal(['/mine', '/mine']);
  });
});
