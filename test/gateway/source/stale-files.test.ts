import { expect } from 'chai';
import { serveKept, start } from './kept-source.js';
import { ok, rejection } from './raw-server.js';

describe('createSource, with files kept that are stale', () => {
  const { routes, server, codeOf, fetch, get, say, about, asked, headOf, cache, clock } = serveKept();

  it('asks whether a stale file still holds, over the same connection, and takes it from there', async () => {
    const date = new Date(start - 9000).toUTCString();
    const first = ok('first', `cache-control: max-age=60\r\netag: "a"\r\nlast-modified: ${date}\r\n`);
    about('/a', first, 'etag: "a"\r\ncache-control: max-age=5\r\n');
    await get('/a');
    const connections = server().accepted();
    clock.seconds = 100;
    const { kept, body } = await fetch('/a');
    expect([kept, Buffer.from(body).toString()]).to.deep.equal(['revalidated', 'first']);
    expect(headOf(-1))
      .to.include('\r\nif-none-match: "a"\r\n')
      .and.to.include(`\r\nif-modified-since: ${date}\r\n`);
    clock.seconds = 104;
    expect((await fetch('/a')).kept).to.equal('hit');
    clock.seconds = 106;
    expect((await fetch('/a')).kept).to.equal('revalidated');
    expect(asked()).to.equal(3);
    expect(server().accepted()).to.equal(connections);
  });

  it('takes what has changed', async () => {
    say('/a', 'first', 'etag: "a"');
    await get('/a');
    say('/a', 'second', 'etag: "b"');
    expect((await fetch('/a')).kept).to.equal('miss');
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
    expect((await fetch('/a')).kept).to.equal('revalidated');
    expect(cache().stats().entries).to.equal(0);
    expect((await fetch('/a')).kept).to.equal('miss');
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
