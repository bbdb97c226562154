import { expect } from 'chai';
import { serveKept, start } from './kept-source.js';
import { ok, redirect, rejection } from './raw-server.js';

describe('createSource, with files kept', () => {
  const { routes, server, codeOf, fetch, get, say, asked, headOf, source, cache, clock, reopen } =
    serveKept();

  it('serves a file without a word to its server until it is stale', async () => {
    say('/a', 'first', 'cache-control: max-age=60', 'content-type: image/png');
    const { cacheStatus, headers } = await fetch('/a');
    expect([cacheStatus, headers['content-type']]).to.deep.equal(['miss', 'image/png']);
    say('/a', 'second', 'cache-control: max-age=60');
    clock.seconds = 58;
    const { body, ...rest } = await fetch('/a');
    expect(Buffer.from(body).toString()).to.equal('first');
    expect(rest).to.deep.equal({ status: 200, headers: { 'content-type': 'image/png' }, cacheStatus: 'hit' });
    expect(asked()).to.equal(1);
    clock.seconds = 61;
    expect(await get('/a')).to.equal('second');
    expect(asked()).to.equal(2);
  });

  for (const line of ['no-store', 'private, max-age=60', 'max-age=0', 'no-cache']) {
    it(`asks again after cache-control: ${line}`, async () => {
      say('/a', 'x', `cache-control: ${line}`);
      expect((await fetch('/a')).cacheStatus).to.equal(undefined);
      await get('/a');
      expect(asked()).to.equal(2);
      expect(cache().stats().entries).to.equal(0);
    });
  }

  it('keeps each tenant’s apart, and nothing for nobody', async () => {
    say('/a', 'x', 'cache-control: max-age=60', 'etag: "a"');
    await get('/a', { tenant: 'a' });
    await get('/a', { tenant: 'b' });
    await get('/a', { tenant: undefined });
    await get('/a', { tenant: undefined });
    expect(asked()).to.equal(4);
    expect(server().requests.join('')).not.to.include('if-none-match');
    await get('/a', { tenant: 'b' });
    expect(asked()).to.equal(4);
  });

  it('keeps what was asked for with another Accept, or at another url, apart', async () => {
    say('/a', 'x', 'cache-control: max-age=60', 'vary: Accept');
    say('/a?b', 'y', 'cache-control: max-age=60');
    await get('/a', { accept: 'image/*' });
    await get('/a', { accept: 'text/csv' });
    expect(await get('/a?b')).to.equal('y');
    expect(asked()).to.equal(3);
    expect(await get('/a#part')).to.equal('x');
    expect(asked()).to.equal(3);
  });

  it('counts of a url both its places: what it is found by, and what was asked', async () => {
    const sizeOf = async (path: string) => {
      const { bytes } = cache().stats();
      say(path, 'x', 'cache-control: max-age=60');
      await get(path);
      return cache().stats().bytes - bytes;
    };
    expect(await sizeOf(`/${'a'.repeat(1000)}`)).to.equal((await sizeOf('/')) + 2000);
  });

  it('keeps no answer of another status, nor for who takes any', async () => {
    routes['/gone'] = (socket) =>
      void socket.write('HTTP/1.1 410 Gone\r\ncache-control: max-age=60\r\ncontent-length: 1\r\n\r\nx');
    for (let round = 0; round < 2; round++) {
      expect(await codeOf(get('/gone'))).to.equal('source_failed');
      expect((await fetch('/gone', { anyStatus: true })).status).to.equal(410);
    }
    say('/a', 'x', 'cache-control: max-age=60');
    await get('/a', { anyStatus: true });
    await get('/a', { anyStatus: true });
    expect(asked()).to.equal(6);
    expect(cache().stats().entries).to.equal(0);
  });

  it('keeps a redirect’s target and never the redirect', async () => {
    routes['/from'] = (socket) =>
      void socket.write(redirect('/to', 301).replace('\r\n\r\n', '\r\ncache-control: max-age=60\r\n\r\n'));
    say('/to', 'there', 'cache-control: max-age=60');
    expect(await get('/from')).to.equal('there');
    expect(await get('/from')).to.equal('there');
    expect(await get('/to')).to.equal('there');
    expect(server().requests.map((head) => head.split(' ')[1])).to.deep.equal(['/from', '/to', '/from']);
    routes['/from'] = (socket) => void socket.write(redirect('https://127.0.0.1/'));
    expect(await codeOf(get('/from'))).to.equal('source_refused');
  });

  it('judges the url of a file that is kept like any other', async () => {
    say('/a', 'x', 'cache-control: max-age=60');
    await get('/a');
    expect(() => source().cached({ href: 'https://127.0.0.1/' }, { tenant: 'a' }))
      .to.throw()
      .with.property('code', 'source_refused');
    const checked = source().check(`${server().origin}/a`);
    expect(source().cached(checked, { tenant: 'a' })?.cacheStatus).to.equal('hit');
    for (const options of [
      { tenant: 'b' },
      {},
      { tenant: 'a', anyStatus: true },
      { tenant: 'a', accept: '*/*' },
    ])
      expect(source().cached(checked, options)).to.equal(undefined);
  });

  it('holds a kept file against the bound of who asks', async () => {
    say('/a', '12345', 'cache-control: max-age=60', 'etag: "a"');
    await get('/a');
    expect(await codeOf(get('/a', { maxBytes: 4 }))).to.equal('image_too_large');
    expect(asked()).to.equal(1);
    clock.seconds = 61;
    say('/a', '123', 'cache-control: max-age=60');
    expect(await get('/a', { maxBytes: 4 })).to.equal('123');
    expect(headOf(-1)).not.to.include('if-none-match');
  });

  it('keeps nothing of a cookie, and gives none out', async () => {
    say('/a', 'x', 'set-cookie: secret=1', 'cache-control: public, max-age=60');
    await get('/a');
    expect(JSON.stringify(await fetch('/a'))).not.to.include('secret');
    expect(asked()).to.equal(1);
    say('/b', 'x', 'set-cookie: secret=1', 'cache-control: max-age=60');
    await get('/b');
    await get('/b');
    expect(asked()).to.equal(3);
  });

  it('keeps no file that ends with its connection, which may have been cut off', async () => {
    routes['/a'] = (socket) => void socket.end('HTTP/1.1 200 OK\r\ncache-control: max-age=60\r\n\r\nabc');
    await get('/a');
    expect(cache().stats().entries).to.equal(0);
  });

  it('stays within its memory, and hands out to be moved what it does not keep', async () => {
    await reopen(40_000);
    for (let at = 0; at < 20; at++) {
      say(`/${at}`, 'x'.repeat(5_000), 'cache-control: max-age=60');
      await get(`/${at}`);
      expect(cache().stats().bytes).to.be.at.most(40_000);
    }
    say('/large', 'x'.repeat(20_000), 'cache-control: max-age=60');
    const { cacheStatus, body } = await fetch('/large');
    expect(cacheStatus).to.equal(undefined);
    expect(structuredClone(body, { transfer: [body.buffer] })).to.have.length(20_000);
  });
});

describe('createSource, with files kept that are stale', () => {
  const { routes, server, codeOf, fetch, get, say, about, asked, headOf, cache, clock } = serveKept();

  it('asks whether a stale file still holds, over the same connection, and takes it from there', async () => {
    const date = new Date(start - 9000).toUTCString();
    const first = ok('first', `cache-control: max-age=60\r\netag: "a"\r\nlast-modified: ${date}\r\n`);
    about('/a', first, 'etag: "a"\r\ncache-control: max-age=5\r\n');
    await get('/a');
    const connections = server().accepted();
    clock.seconds = 100;
    const { cacheStatus, body } = await fetch('/a');
    expect([cacheStatus, Buffer.from(body).toString()]).to.deep.equal(['revalidated', 'first']);
    expect(headOf(-1))
      .to.include('\r\nif-none-match: "a"\r\n')
      .and.to.include(`\r\nif-modified-since: ${date}\r\n`);
    clock.seconds = 104;
    expect((await fetch('/a')).cacheStatus).to.equal('hit');
    clock.seconds = 106;
    expect((await fetch('/a')).cacheStatus).to.equal('revalidated');
    expect(asked()).to.equal(3);
    expect(server().accepted()).to.equal(connections);
  });

  it('takes what has changed', async () => {
    say('/a', 'first', 'etag: "a"');
    await get('/a');
    say('/a', 'second', 'etag: "b"');
    expect((await fetch('/a')).cacheStatus).to.equal('miss');
    expect(headOf(-1)).to.include('if-none-match: "a"');
    await get('/a');
    expect(headOf(-1)).to.include('if-none-match: "b"');
    say('/a', 'third', 'cache-control: no-store');
    expect(await get('/a')).to.equal('third');
    expect(cache().stats().entries).to.equal(0);
  });

  it('lets a failure be one, whatever is kept', async () => {
    say('/a', 'first', 'etag: "a"', 'cache-control: max-age=1, stale-if-error=600');
    await get('/a');
    clock.seconds = 2;
    routes['/a'] = (socket) => void socket.write('HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n');
    expect(await codeOf(get('/a'))).to.equal('source_failed');
    routes['/a'] = (socket) =>
      void socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx');
    expect(await codeOf(get('/a'))).to.equal('source_failed');
  });

  it('uses once, and keeps no longer, what a 304 forbids to keep', async () => {
    const file = ok('first', 'etag: "a"\r\n');
    about('/a', file, 'etag: "a"\r\ncache-control: no-store\r\n');
    await get('/a');
    expect((await fetch('/a')).cacheStatus).to.equal('revalidated');
    expect(cache().stats().entries).to.equal(0);
    expect((await fetch('/a')).cacheStatus).to.equal('miss');
  });

  it('asks for the whole where a 304 speaks of something else', async () => {
    const times = about('/a', ok('first', 'etag: "a"\r\n'), 'etag: "b"\r\n');
    await get('/a');
    expect(await get('/a')).to.equal('first');
    expect(times()).to.equal(3);
  });

  for (const line of ['content-length: 5', 'transfer-encoding: chunked'])
    it(`waits for no body behind a 304 with ${line}`, async () => {
      about('/a', ok('first', 'etag: "a"\r\n'), `${line}\r\n`);
      await get('/a');
      expect(await get('/a')).to.equal('first');
      expect(await get('/a')).to.equal('first');
      expect(asked()).to.equal(3);
    });

  it('fails on a 304 that nobody asked for', async () => {
    routes['/a'] = (socket) => void socket.write('HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n');
    expect((await rejection(get('/a'))).message).to.include('304');
    expect(asked()).to.equal(1);
  });
});
