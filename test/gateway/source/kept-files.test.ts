import { expect } from 'chai';
import { serveKept } from './kept-source.js';
import { redirect } from './raw-server.js';

describe('createSource, with files kept', () => {
  const { routes, server, codeOf, fetch, get, say, asked, headOf, source, cache, clock, reopen } =
    serveKept();

  it('serves a file without a word to its server until it is stale', async () => {
    say('/a', 'first', 'cache-control: max-age=60', 'content-type: image/png');
    const { kept, headers } = await fetch('/a');
    expect([kept, headers['content-type']]).to.deep.equal(['miss', 'image/png']);
    say('/a', 'second', 'cache-control: max-age=60');
    clock.seconds = 58;
    const { body, ...rest } = await fetch('/a');
    expect(Buffer.from(body).toString()).to.equal('first');
    expect(rest).to.deep.equal({ status: 200, headers: { 'content-type': 'image/png' }, kept: 'hit' });
    expect(asked()).to.equal(1);
    clock.seconds = 61;
    expect(await get('/a')).to.equal('second');
    expect(asked()).to.equal(2);
  });

  for (const line of ['no-store', 'private, max-age=60', 'max-age=0', 'no-cache']) {
    it(`asks again after cache-control: ${line}`, async () => {
      say('/a', 'x', `cache-control: ${line}`);
      expect((await fetch('/a')).kept).to.equal(undefined);
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
    expect(() => source().kept({ href: 'https://127.0.0.1/' }, { tenant: 'a' }))
      .to.throw()
      .with.property('code', 'source_refused');
    const checked = source().check(`${server().origin}/a`);
    expect(source().kept(checked, { tenant: 'a' })?.kept).to.equal('hit');
    for (const options of [
      { tenant: 'b' },
      {},
      { tenant: 'a', anyStatus: true },
      { tenant: 'a', accept: '*/*' },
    ])
      expect(source().kept(checked, options)).to.equal(undefined);
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
    const { kept, body } = await fetch('/large');
    expect(kept).to.equal(undefined);
    expect(structuredClone(body, { transfer: [body.buffer] })).to.have.length(20_000);
  });
});
