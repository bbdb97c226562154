import { expect } from 'chai';
import { ok, redirect } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('a source that takes any status', () => {
  const { create, server, say, codeOf } = serveRoutes();
  const fetch = (path: string, options = {}) => {
    const source = create();
    return source.fetch(source.check(server().origin + path), { anyStatus: true, ...options });
  };

  it('gives status, headers and bytes, which may be none', async () => {
    say('/gone', 'HTTP/1.1 410 Gone\r\nX-Why: old\r\ncontent-length: 3\r\n\r\nold');
    const gone = await fetch('/gone');
    expect([gone.status, gone.headers['x-why'], Buffer.from(gone.body).toString()]).to.deep.equal([
      410,
      'old',
      'old',
    ]);
    say('/none', 'HTTP/1.1 204 No Content\r\n\r\n');
    expect(await fetch('/none')).to.deep.include({ status: 204, body: new Uint8Array() });
    say('/empty', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    expect(await fetch('/empty')).to.deep.include({ status: 200, body: new Uint8Array() });
  });

  it('follows redirects all the same, asking each for the same', async () => {
    say('/from', redirect('/to'));
    say('/to', ok('here'));
    expect(Buffer.from((await fetch('/from', { accept: 'text/csv' })).body).toString()).to.equal('here');
    expect(server().requests.every((head) => /^accept: text\/csv\r$/m.test(head))).to.equal(true);
  });

  it('takes no more than it is told to, and nothing compressed', async () => {
    say('/long', ok('12345'));
    expect(await codeOf(fetch('/long', { maxBytes: 4 }))).to.equal('image_too_large');
    say('/gzip', 'HTTP/1.1 404 None\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx');
    expect(await codeOf(fetch('/gzip'))).to.equal('source_failed');
  });
});
