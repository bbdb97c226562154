import { expect } from 'chai';
import { type Cache, createCache } from '../../../gateway/cache.js';
import type { CachedFile } from '../../../gateway/download/exchange.js';
import type { FetchOptions, Source } from '../../../gateway/download/fetch.js';
import { codeOf, ok, redirect } from './raw-server.js';
import { serveRoutes } from './routes.js';

const start = Date.UTC(2026, 0, 1);

describe('createSource, with files cached', () => {
  let source: Source;
  let cache: Cache;
  /** Since `start`. */
  let seconds: number;
  // Before the hook of the routes, which sees that every connection is closed.
  afterEach(() => source.close());
  const { routes, create, server, ...served } = serveRoutes();
  const open = (bytes: number) => {
    cache = createCache(bytes);
    const now = () => start + seconds * 1000;
    source = create({ cache: cache.namespace<CachedFile>('source'), now });
  };
  beforeEach(() => {
    seconds = 0;
    open(1e6);
  });

  const fetch = (path: string, options: FetchOptions = {}) =>
    served.fetch(path, { tenant: 'a', ...options }, source);
  const get = async (path: string, options: FetchOptions = {}) =>
    Buffer.from((await fetch(path, options)).body).toString();
  const statusOf = async (path: string) => (await fetch(path)).cacheStatus;
  const asked = () => server().requests.length;
  const headOf = (at: number) => server().requests.at(at) ?? '';
  /** A file with headers. */
  const say = (path: string, body: string, ...headers: string[]) => {
    const text = ok(body, headers.map((line) => `${line}\r\n`).join(''));
    routes[path] = (socket) => void socket.write(text);
  };
  const day = 'cache-control: max-age=60';
  /** Answers a conditional request with 304 and these headers, any other with a file of this tag. */
  const revalidate = (path: string, then: string, ...headers: string[]) => {
    const file = ok('first', ['etag: "a"', ...headers].map((line) => `${line}\r\n`).join(''));
    routes[path] = (socket) => {
      const isConditional = /^if-(none-match|modified-since): /m.test(headOf(-1));
      socket.write(isConditional ? `HTTP/1.1 304 Not Modified\r\n${then}\r\n` : file);
    };
  };

  it('serves a file without a request to its server until it is stale', async () => {
    say('/a', 'first', day, 'content-type: image/png');
    expect(await statusOf('/a')).to.equal('miss');
    say('/a', 'second', day);
    seconds = 58;
    const { body, ...rest } = await fetch('/a');
    expect(Buffer.from(body).toString()).to.equal('first');
    expect(rest).to.deep.equal({ status: 200, headers: { 'content-type': 'image/png' }, cacheStatus: 'hit' });
    expect(asked()).to.equal(1);
    seconds = 61;
    expect(await get('/a')).to.equal('second');
    expect(asked()).to.equal(2);
  });

  it('asks again after an answer that may not be stored', async () => {
    for (const line of ['no-store', 'private, max-age=60', 'max-age=0', 'no-cache']) {
      say('/a', 'x', `cache-control: ${line}`);
      for (let round = 0; round < 2; round++) expect(await statusOf('/a')).to.equal(undefined);
    }
    // It ends with its connection, so it may have been cut off.
    routes['/end'] = (socket) => void socket.end(`HTTP/1.1 200 OK\r\n${day}\r\n\r\nabc`);
    await get('/end');
    expect([asked(), cache.stats().entries]).to.deep.equal([9, 0]);
  });

  it('keeps tenants, Accept headers and urls apart, and nothing without a tenant', async () => {
    say('/a', 'x', day, 'etag: "a"', 'vary: Accept');
    say('/a?b', 'y', day);
    const [other, none, table] = [{ tenant: 'b' }, { tenant: undefined }, { accept: 'text/csv' }];
    for (const options of [{}, other, table, none, none]) await get('/a', options);
    expect(await get('/a?b')).to.equal('y');
    expect(asked()).to.equal(6);
    expect(server().requests.join('')).not.to.include('if-none-match');
    for (const options of [other, table]) expect(await get('/a', options)).to.equal('x');
    expect(await get('/a#part')).to.equal('x');
    expect(asked()).to.equal(6);
  });

  it('counts of a url both its places: in the key and in the request', async () => {
    const sizeOf = async (path: string) => {
      const { bytes } = cache.stats();
      say(path, 'x', day);
      await get(path);
      return cache.stats().bytes - bytes;
    };
    expect(await sizeOf(`/${'a'.repeat(1000)}`)).to.equal((await sizeOf('/')) + 2000);
  });

  it('stores no answer of another status, nor where any is accepted', async () => {
    routes['/gone'] = (socket) =>
      void socket.write(`HTTP/1.1 410 Gone\r\n${day}\r\ncontent-length: 1\r\n\r\nx`);
    say('/a', 'x', day);
    for (let round = 0; round < 2; round++) {
      expect(await codeOf(get('/gone'))).to.equal('source_failed');
      expect((await fetch('/gone', { anyStatus: true })).status).to.equal(410);
      await get('/a', { anyStatus: true });
    }
    expect([asked(), cache.stats().entries]).to.deep.equal([6, 0]);
  });

  it("stores a redirect's target and never the redirect", async () => {
    const cacheable = redirect('/to', 301).replace('\r\n\r\n', `\r\n${day}\r\n\r\n`);
    routes['/from'] = (socket) => void socket.write(cacheable);
    say('/to', 'there', day);
    for (const path of ['/from', '/from', '/to']) expect(await get(path)).to.equal('there');
    expect(server().requests.map((head) => head.split(' ')[1])).to.deep.equal(['/from', '/to', '/from']);
    routes['/from'] = (socket) => void socket.write(redirect('https://127.0.0.1/'));
    expect(await codeOf(get('/from'))).to.equal('source_refused');
  });

  it('checks the url of a cached file like any other', async () => {
    say('/a', 'x', day);
    await get('/a');
    expect(() => source.cached({ href: 'https://127.0.0.1/' }, { tenant: 'a' }))
      .to.throw()
      .with.property('code', 'source_refused');
    const checked = source.check(`${server().origin}/a`);
    expect(source.cached(checked, { tenant: 'a' })?.cacheStatus).to.equal('hit');
    for (const more of [{ tenant: 'b' }, { tenant: undefined }, { anyStatus: true }, { accept: '*/*' }])
      expect(source.cached(checked, { tenant: 'a', ...more })).to.equal(undefined);
  });

  it('holds a cached file to the bound of each request', async () => {
    say('/a', '12345', day, 'etag: "a"');
    await get('/a');
    expect(await codeOf(get('/a', { maxBytes: 4 }))).to.equal('image_too_large');
    expect(asked()).to.equal(1);
    seconds = 61;
    say('/a', '123', day);
    expect(await get('/a', { maxBytes: 4 })).to.equal('123');
    expect(headOf(-1)).not.to.include('if-none-match');
  });

  it('stores nothing of a cookie, and gives none out', async () => {
    say('/a', 'x', 'set-cookie: secret=1', 'cache-control: public, max-age=60');
    await get('/a');
    expect(JSON.stringify(await fetch('/a'))).not.to.include('secret');
    expect(asked()).to.equal(1);
  });

  it('stays within its memory, and hands out to be moved what it does not store', async () => {
    await source.close();
    open(40_000);
    for (let at = 0; at < 20; at++) {
      say(`/${at}`, 'x'.repeat(5_000), day);
      await get(`/${at}`);
      expect(cache.stats().bytes).to.be.at.most(40_000);
    }
    say('/large', 'x'.repeat(20_000), day);
    const { cacheStatus, body } = await fetch('/large');
    expect(cacheStatus).to.equal(undefined);
    expect(structuredClone(body, { transfer: [body.buffer] })).to.have.length(20_000);
  });

  it('revalidates a stale file over the same connection, and serves it from memory', async () => {
    const date = new Date(start - 9000).toUTCString();
    revalidate('/a', 'etag: "a"\r\ncache-control: max-age=5\r\n', day, `last-modified: ${date}`);
    await get('/a');
    const connections = server().accepted();
    seconds = 100;
    const { cacheStatus, body } = await fetch('/a');
    expect([cacheStatus, Buffer.from(body).toString()]).to.deep.equal(['revalidated', 'first']);
    expect(headOf(-1)).to.include(`\r\nif-none-match: "a"\r\nif-modified-since: ${date}\r\n`);
    seconds = 104;
    expect(await statusOf('/a')).to.equal('hit');
    seconds = 106;
    expect(await statusOf('/a')).to.equal('revalidated');
    expect([asked(), server().accepted()]).to.deep.equal([3, connections]);
  });

  it('replaces what has changed', async () => {
    say('/a', 'first', 'etag: "a"');
    await get('/a');
    say('/a', 'second', 'etag: "b"');
    expect(await statusOf('/a')).to.equal('miss');
    expect(headOf(-1)).to.include('if-none-match: "a"');
    await get('/a');
    expect(headOf(-1)).to.include('if-none-match: "b"');
    say('/a', 'third', 'cache-control: no-store');
    expect(await get('/a')).to.equal('third');
    expect(cache.stats().entries).to.equal(0);
  });

  it('lets a failure be one, whatever is cached', async () => {
    say('/a', 'first', 'etag: "a"', 'cache-control: max-age=1, stale-if-error=600');
    await get('/a');
    seconds = 2;
    routes['/a'] = (socket) => void socket.write('HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n');
    expect(await codeOf(get('/a'))).to.equal('source_failed');
    say('/a', 'x', 'content-encoding: gzip');
    expect(await codeOf(get('/a'))).to.equal('source_failed');
  });

  it('uses once, and stores no longer, what a 304 forbids to store', async () => {
    revalidate('/a', 'etag: "a"\r\ncache-control: no-store\r\n');
    await get('/a');
    expect(await statusOf('/a')).to.equal('revalidated');
    expect(cache.stats().entries).to.equal(0);
    expect(await statusOf('/a')).to.equal('miss');
  });

  it('downloads the whole where a 304 is about another version', async () => {
    revalidate('/a', 'etag: "b"\r\n');
    for (let round = 0; round < 2; round++) expect(await get('/a')).to.equal('first');
    expect(asked()).to.equal(3);
  });

  it('waits for no body behind a 304', async () => {
    for (const line of ['content-length: 5', 'transfer-encoding: chunked']) {
      revalidate('/a', `${line}\r\n`);
      for (let round = 0; round < 2; round++) expect(await get('/a')).to.equal('first');
    }
    expect(asked()).to.equal(4);
  });
});
