import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import sharp from 'sharp';
import { fixture } from '../fixtures.js';
import { until } from '../needs.js';
import { type Answer, startTestGateway, type TestGateway } from './harness.js';

const wordsOf = ({ status, headers }: Answer) => [status, headers.get('x-cache')];

describe('results of one gateway and another', () => {
  const open: (() => Promise<unknown>)[] = [];
  let folder: string;
  let noise: Buffer;
  before(async () => {
    const create = { width: 900, height: 700, channels: 3 as const, background: '#888' };
    noise = await sharp({ create: { ...create, noise: { type: 'gaussian', mean: 128, sigma: 60 } } })
      .jpeg({ quality: 40 })
      .toBuffer();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reuse-'));
    open.push(() => rm(folder, { recursive: true }));
  });
  afterEach(async () => {
    for (const close of open.splice(0)) await close();
  });

  async function start(env: Record<string, string> = {}): Promise<TestGateway> {
    const api = await startTestGateway(env);
    open.push(() => api.close());
    return api;
  }

  function upload(fields: Record<string, string> = {}): FormData {
    const form = new FormData();
    for (const [field, value] of Object.entries(fields)) form.set(field, value);
    form.set('file', new Blob([new Uint8Array(noise)]), 'picture');
    return form;
  }

  it('have other tags by another engine, and the same by the same', async () => {
    const etags: (string | null)[] = [];
    for (const engine of ['sharp', 'jimp', 'sharp']) {
      const api = await start({ HELPER_IMAGE_ENGINE: engine });
      etags.push((await api.call('/media/add-border', { body: upload() })).headers.get('etag'));
    }
    expect(etags[0]).to.equal(etags[2]).and.to.not.equal(etags[1]);
  });

  it('are shared and told where none are kept', async () => {
    const images = createServer((_, response) => void response.end(noise)).listen(0, '127.0.0.1');
    await new Promise((resolve) => images.once('listening', resolve));
    open.push(async () => void images.close());
    const origin = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
    const api = await start({
      HELPER_CACHE_BYTES: '0',
      HELPER_PLUGINS: fixture('plugins/reuse'),
      HELPER_SOURCE_ORIGINS: origin,
    });
    await writeFile(join(folder, 'open'), '');
    const ask = () => api.call('/gated', { body: upload({ folder }) });
    const [first, again] = [await ask(), await ask()];
    expect([wordsOf(first), wordsOf(again)]).to.deep.equal([
      [200, 'miss'],
      [200, 'miss'],
    ]);
    const known = await api.call(`/gated?${new URLSearchParams({ folder, url: `${origin}/` })}`, {
      headers: { 'if-none-match': first.headers.get('etag') ?? '' },
    });
    expect(wordsOf(known)).to.deep.equal([304, 'hit']);
    expect(await readFile(join(folder, 'runs'), 'utf8')).to.have.length(2);
  });

  it('cost 50 calls by one url at once one download and one task', async () => {
    let downloads = 0;
    let answer: (() => void) | undefined;
    const images: Server = createServer((_, response) => {
      downloads += 1;
      // For those that come when it is over.
      response.setHeader('cache-control', 'max-age=600');
      answer = () => response.end(noise);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => images.once('listening', resolve));
    open.push(async () => images.close());
    const origin = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
    const api = await start({ HELPER_SOURCE_ORIGINS: origin, HELPER_PLUGINS: fixture('plugins/reuse') });
    const query = new URLSearchParams({ folder, url: `${origin}/x` });
    const calls = Array.from({ length: 50 }, () => api.call(`/gated?${query}`));
    (await until(() => answer))();
    await writeFile(join(folder, 'open'), '');
    const words = (await Promise.all(calls)).map(({ headers }) => headers.get('x-cache'));
    expect(words.filter((word) => word === 'miss')).to.have.length(1);
    expect(await readFile(join(folder, 'runs'), 'utf8')).to.have.length(1);
    expect(downloads).to.equal(1);
  });

  it('are a tenant’s own', async () => {
    const api = await start({ HELPER_OPERATOR_TOKEN: 'token-of-this-test-of-32-characters' });
    const post = async (path: string, body: object) => {
      const response = await fetch(new URL(path, api.gateway.connectUrl), {
        method: 'POST',
        headers: {
          authorization: 'Bearer token-of-this-test-of-32-characters',
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      });
      return ((await response.json()) as { data: { key: string } }).data;
    };
    await post('/api/tenants', { name: 'other' });
    const { key } = await post('/api/tenants/other/keys', {});
    const own = await api.call('/media/add-border', { body: upload() });
    const others = await api.call('/media/add-border', { body: upload(), key });
    expect([wordsOf(own), wordsOf(others)]).to.deep.equal([
      [200, 'miss'],
      [200, 'miss'],
    ]);
    expect(others.headers.get('etag')).to.equal(own.headers.get('etag'));
    expect(wordsOf(await api.call('/media/add-border', { body: upload(), key }))).to.deep.equal([200, 'hit']);
  });

  it('have the same tag wherever their plugin lies, and another when it is another', async () => {
    const source = (kind: string) =>
      `export default { summary: 'x', source: 'image', input: { type: 'object', properties: {} }, handler: (_, { image }) => image.encode('${kind}') };`;
    const ask = async (name: string, kind: string) => {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'convert.mjs'), source(kind));
      const api = await start({ HELPER_PLUGINS: join(folder, name) });
      return api.call('/convert', { body: upload() });
    };
    const first = await ask('first', 'png');
    const same = await ask('same', 'png');
    expect(same.headers.get('etag')).to.equal(first.headers.get('etag'));
    const next = await ask('next', 'jpg');
    expect([next.headers.get('content-type'), wordsOf(next)]).to.deep.equal(['image/jpeg', [200, 'miss']]);
    expect(next.headers.get('etag')).to.not.equal(first.headers.get('etag'));
  });
});
