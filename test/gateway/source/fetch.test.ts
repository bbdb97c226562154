import { expect } from 'chai';
import { errorTable, type GatewayError } from '../../../gateway/errors.js';
import type { Source } from '../../../gateway/source/fetch.js';
import { bytesFrom } from './bytes-from.js';
import { ok, redirect, rejection } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('createSource', () => {
  const { routes, create, server, say, get, codeOf } = serveRoutes();
  let source: Source;
  before(() => {
    source = create();
  });

  it('brings the bytes, alone in an ArrayBuffer that can be moved', async () => {
    say('/a', ok('bytes'));
    const bytes = await get('/a');
    expect(Buffer.from(bytes).toString()).to.equal('bytes');
    expect(structuredClone(bytes, { transfer: [bytes.buffer] })).to.have.length(5);
  });

  it('reads chunked bodies, bodies up to the end of the connection, and past interim responses', async () => {
    say(
      '/chunked',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nt: r\r\n\r\n',
    );
    say('/end', 'HTTP/1.0 200 OK\r\n\r\nabcde');
    say(
      '/hints',
      Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), ok('abcde') as Buffer]),
    );
    for (const path of ['/chunked', '/end', '/hints'])
      expect(Buffer.from(await get(path)).toString()).to.equal('abcde');
  });

  it('sends its own few headers and nothing else, on redirects too', async () => {
    say('/first?ak=hg_secret', redirect('/second', 301).replace('\r\n\r\n', '\r\nset-cookie: a=b\r\n\r\n'));
    say('/second', ok('x'));
    await get('/first?ak=hg_secret');
    const expected = [
      'accept: image/*',
      'accept-encoding: identity',
      'connection: close',
      `host: ${server().origin.slice(7)}`,
      'user-agent: helper-gateway',
    ];
    const heads = server().requests.map((head) => head.trim().split('\r\n'));
    expect(heads.map(([line]) => line)).to.deep.equal([
      'GET /first?ak=hg_secret HTTP/1.1',
      'GET /second HTTP/1.1',
    ]);
    for (const [, ...lines] of heads) expect(lines).to.have.members(expected);
  });

  describe('redirects', () => {
    before(() => {
      for (let hop = 1; hop <= 5; hop++)
        say(`/hop${hop}`, redirect(`/hop${hop - 1}`, [301, 302, 303, 307, 308][hop - 1]));
      say('/hop0', ok('there'));
      say('/loop', redirect('/loop'));
    });

    for (const hops of [1, 2, 3]) {
      it(`follows ${hops}`, async () => expect(await get(`/hop${hops}`)).to.have.length(5));
    }

    it('does not follow a fourth, nor a loop', async () => {
      expect(await codeOf(get('/hop4'))).to.equal('source_failed');
      expect(await codeOf(get('/loop'))).to.equal('source_failed');
      expect(server().requests).to.have.length(8);
    });

    const inside = [
      'http://127.0.0.1:1/',
      'https://127.0.0.1/',
      'https://169.254.169.254/latest/meta-data/',
      'https://[::1]/',
      'http://example.com/',
      'https://example.com:444/',
      'https://user:pass@example.com/',
      'file:///etc/passwd',
      'data:image/png;base64,AA==',
      '//2130706433/',
      'https://localhost/',
    ];
    for (const location of inside) {
      it(`refuses one to ${location} with the one message`, async () => {
        say('/inside', redirect(location));
        const error = await rejection(get('/inside'));
        expect(error).to.include({ code: 'source_refused', message: errorTable.source_refused.message });
      });
    }

    for (const location of ['https://exa mple.com/', '/a\tb', '\\\\127.0.0.1\\', 'https://']) {
      it(`fails on one to ${JSON.stringify(location)}`, async () => {
        say('/broken', redirect(location));
        expect(await codeOf(get('/broken'))).to.equal('source_failed');
      });
    }
  });

  describe('giving up', () => {
    it("closes the connection at once when the caller's signal is aborted, with its reason", async () => {
      const caller = new AbortController();
      routes['/wait'] = () => caller.abort(new Error('client gone'));
      const error = await rejection(
        bytesFrom(source, source.check(`${server().origin}/wait`), { signal: caller.signal }),
      );
      expect(error.message).to.equal('client gone');
    });

    it('does not even connect for a caller who has gone', async () => {
      const signal = AbortSignal.abort(new Error('client gone'));
      expect(
        (await rejection(bytesFrom(source, source.check(server().origin), { signal }))).message,
      ).to.equal('client gone');
      expect(server().requests).to.have.length(0);
    });

    it('ends downloads that run and refuses new ones once it is closed', async () => {
      const closing = create();
      routes['/wait'] = () => void closing.close();
      expect(await codeOf(get('/wait', closing))).to.equal('shutting_down');
      expect(await codeOf(get('/wait', closing))).to.equal('shutting_down');
    });
  });

  describe('check', () => {
    const problemOf = (raw: string) => {
      try {
        source.check(raw);
      } catch (error) {
        return error as GatewayError;
      }
      return undefined;
    };

    it('names the field of what is not a url', () => {
      const error = problemOf('photo.jpg');
      expect(error).to.include({ code: 'invalid_input' });
      expect(error?.details?.[0])
        .to.include({ field: 'url' })
        .and.to.have.property('problem')
        .that.includes('is a string, but not a url');
    });

    it('says one and the same of everything that may not be fetched', () => {
      const refused = [
        'http://example.com/',
        'https://example.com:8443/',
        'https://u:p@example.com/',
        'https://10.0.0.1/',
        'https://nas.local/',
        'file:///etc/passwd',
      ];
      const answers = refused
        .map((raw) => problemOf(raw))
        .map((error) => [error?.code, error?.message, error?.details, error?.headers]);
      for (const answer of answers)
        expect(answer).to.deep.equal(['source_refused', errorTable.source_refused.message, undefined, {}]);
    });

    it('is not what fetch relies on', async () => {
      expect(await codeOf(bytesFrom(source, { href: 'https://127.0.0.1/' }))).to.equal('source_refused');
    });
  });
});
