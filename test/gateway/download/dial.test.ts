import { EventEmitter } from 'node:events';
import net from 'node:net';
import type { SecureVersion, TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { createSessions } from '../../../gateway/download/dial.js';
import { createSource, type Source, type SourceOptions } from '../../../gateway/download/fetch.js';
import { skipWithout, until } from '../../needs.js';
import { bytesFrom } from './bytes-from.js';
import { type Certificate, hasOpenssl, makeCertificate } from './certificate.js';
import { ok, type RawServer, redirect, rejection, startRawServer } from './raw-server.js';
import { startTlsServer, type TlsServer } from './tls-server.js';

describe('createDial', () => {
  let server: RawServer;
  before(async () => {
    server = await startRawServer((socket, path) =>
      socket.end(path === '/away' ? redirect('https://rebind.example/') : ok('x')),
    );
  });
  after(() => server.close());

  /** A source whose every connection is noted and then led to loopback, as a hostile network would. */
  function observed(options: Partial<SourceOptions>) {
    const dialled: string[] = [];
    const source = createSource({
      timeoutMs: 60_000,
      maxBytes: 1000,
      connect: ({ host, port }) => {
        dialled.push(`${host} ${port}`);
        return net.connect(Number(new URL(server.origin).port), '127.0.0.1');
      },
      ...options,
    });
    return {
      dialled,
      errorOf: (url: string) => rejection(bytesFrom(source, source.check(url))),
      codeOf: async (url: string) => (await rejection(bytesFrom(source, source.check(url)))).code,
    };
  }

  it('connects to the very address that was judged, and judges the peer again', async () => {
    const answers = [['93.184.216.34'], ['127.0.0.1']];
    const { dialled, codeOf } = observed({ resolve: async () => answers.shift() ?? [] });
    expect(await codeOf('https://rebind.example/')).to.equal('source_refused');
    expect(dialled).to.deep.equal(['93.184.216.34 443']);
    expect(answers, 'one look-up').to.have.length(1);
    expect(server.requests).to.have.length(0);
  });

  for (const addresses of [
    ['127.0.0.1'],
    ['93.184.216.34', '10.0.0.1'],
    ['::ffff:10.0.0.1', '93.184.216.34'],
    ['2606:4700::1', 'fe80::1%eth0'],
    ['nonsense'],
  ]) {
    it(`connects nowhere for a name with the addresses ${addresses.join(', ')}`, async () => {
      const { dialled, codeOf } = observed({ resolve: async () => addresses });
      expect(await codeOf('https://mixed.example/')).to.equal('source_refused');
      expect(dialled).to.deep.equal([]);
    });
  }

  it('judges the addresses of each redirect', async () => {
    const { dialled, codeOf } = observed({ origins: [server.origin], resolve: async () => ['192.168.0.1'] });
    expect(await codeOf(`${server.origin}/away`)).to.equal('source_refused');
    expect(dialled).to.have.length(1);
  });

  it('tries the next address, but no more than four', async () => {
    const addresses = Array.from({ length: 100 }, (_, index) => `93.184.216.${index}`);
    const tried: string[] = [];
    const { codeOf } = observed({
      resolve: async () => addresses,
      connect: ({ host }) => {
        tried.push(host);
        const socket = new net.Socket();
        return socket.destroy(new Error('unreachable'));
      },
    });
    expect(await codeOf('https://many.example/')).to.equal('source_failed');
    expect(tried).to.deep.equal(addresses.slice(0, 4));
  });

  it('refuses a name without an address as it does one of an inside address', async () => {
    const failing = (code: string) => () => Promise.reject(Object.assign(new Error('x'), { code }));
    const inside = await observed({ resolve: async () => ['10.0.0.1'] }).errorOf('https://a.example/');
    expect(inside.code).to.equal('source_refused');
    for (const resolve of [async () => [], failing('ENOTFOUND'), failing('ENODATA')]) {
      const { code, message } = await observed({ resolve }).errorOf('https://a.example/');
      expect([code, message]).to.deep.equal([inside.code, inside.message]);
    }
  });

  it('fails where the name servers do not answer', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('x'), { code: 'ETIMEOUT' }));
    expect(await observed({ resolve }).codeOf('https://a.example/')).to.equal('source_failed');
  });

  it("looks an exempt origin's name up as the system does, whatever address it has", async () => {
    const port = new URL(server.origin).port;
    const source = createSource({
      origins: [`http://localhost:${port}`],
      timeoutMs: 60_000,
      maxBytes: 10,
      resolve: async () => [],
    });
    expect(await bytesFrom(source, source.check(`http://localhost:${port}/`))).to.have.length(1);
  });
});

for (const version of ['TLSv1.2', 'TLSv1.3'] satisfies SecureVersion[]) {
  describe(`createSource, over ${version}`, () => {
    let certificate: Certificate;
    let server: TlsServer;
    let source: Source;
    let addresses: string[];
    let dialled: string[];

    before(function () {
      if (!hasOpenssl()) skipWithout(this, 'the openssl command');
      certificate = makeCertificate('DNS:one.example,DNS:two.example');
    });
    beforeEach(async () => {
      server = await startTlsServer({ ...certificate, maxVersion: version });
      addresses = ['192.0.2.1'];
      dialled = [];
      source = createSource({
        origins: ['one', 'two', 'false'].map((name) => `https://${name}.example:${server.port}`),
        timeoutMs: 60_000,
        maxBytes: 1000,
        ca: certificate.cert,
        resolveExempt: async () => addresses,
        connect({ host }) {
          dialled.push(host);
          return net.connect(server.port, '127.0.0.1');
        },
      });
    });
    afterEach(async () => {
      await source?.close();
      await server?.close();
    });

    const get = async (name = 'one', tenant: string | undefined = 'a') => {
      const url = source.check(`https://${name}.example:${server.port}/`);
      return Buffer.from(await bytesFrom(source, url, { tenant })).toString();
    };
    /** Ends what waits, so that the next download has to connect. */
    const drop = async () => {
      server.drop();
      await until(() => server.open() === 0);
    };

    it('uses it for no other host at the same address, although the certificate names both', async () => {
      expect(await get('one')).to.equal(`one.example:${server.port}`);
      expect(await get('two')).to.equal(`two.example:${server.port}`);
      expect(server.handshakes).to.deep.equal([false, false]);
      expect((await rejection(get('false'))).code).to.equal('source_failed');
    });

    it('uses it only at an address that the name has now', async () => {
      await get();
      addresses = ['192.0.2.2'];
      await get();
      expect(dialled).to.deep.equal(['192.0.2.1', '192.0.2.2']);
      addresses = ['192.0.2.3', '192.0.2.1'];
      await get();
      expect(dialled).to.have.length(2);
      addresses = [];
      expect((await rejection(get())).code).to.equal('source_refused');
    });

    it('resumes a session of the same tenant and host where no connection is left', async () => {
      await get();
      await drop();
      await get();
      await drop();
      await get();
      expect(server.handshakes).to.deep.equal([false, true, true]);
    });

    it('resumes none of another tenant or host, nor one for nobody', async () => {
      await get('one', 'a');
      await drop();
      await get('one', 'b');
      await get('two', 'a');
      await bytesFrom(source, source.check(`https://one.example:${server.port}/`));
      expect(server.handshakes).to.deep.equal([false, false, false, false]);
    });

    it('shakes hands in full, and checks the certificate, where the server has forgotten the session', async () => {
      await get();
      await drop();
      const { port } = server;
      await server.close();
      server = await startTlsServer({ ...makeCertificate('DNS:one.example'), maxVersion: version });
      const led = createdFor(port);
      expect((await rejection(led)).code).to.equal('source_failed');
    });

    /** The same url, led to the server that is there now. */
    function createdFor(port: number) {
      return bytesFrom(source, source.check(`https://one.example:${port}/`), { tenant: 'a' });
    }

    it('remembers no session whose certificate was not good', async () => {
      expect((await rejection(get('false'))).code).to.equal('source_failed');
      expect((await rejection(get('false'))).code).to.equal('source_failed');
      expect(dialled).to.have.length(2);
      expect(server.handshakes).to.not.include(true);
    });
  });
}

const owner = { tenant: 'a', origin: 'https://example.com' };
const ticket = Buffer.from('ticket');

/** As much of a TLS socket as matters here. */
function handshake(resumed = false) {
  const socket = new EventEmitter();
  return Object.assign(socket, { isSessionReused: () => resumed }) as unknown as TLSSocket;
}

describe('createSessions', () => {
  it('remembers a session once the certificate has been checked, whenever it came', () => {
    for (const order of [
      ['session', 'secureConnect'],
      ['secureConnect', 'session'],
    ]) {
      const sessions = createSessions();
      const socket = handshake();
      sessions.watch(owner, socket, undefined);
      socket.emit(order[0] ?? '', ticket);
      expect(sessions.find(owner)).to.equal(undefined);
      socket.emit(order[1] ?? '', ticket);
      expect(sessions.find(owner)?.ticket).to.equal(ticket);
    }
  });

  it('remembers the last that came, if it is no longer than 16 KB', () => {
    const sessions = createSessions();
    const socket = handshake();
    sessions.watch(owner, socket, undefined);
    socket.emit('secureConnect');
    socket.emit('session', Buffer.from('earlier'));
    socket.emit('session', ticket);
    expect(sessions.find(owner)?.ticket).to.equal(ticket);
    socket.emit('session', Buffer.alloc(20_000));
    expect(sessions.find(owner)).to.equal(undefined);
  });

  it('lets one that came of another live no longer than that, which is five minutes', () => {
    const sessions = createSessions();
    const renew = (checkedAt: number, resumed: boolean) => {
      const socket = handshake(resumed);
      sessions.watch(owner, socket, { ticket, checkedAt });
      socket.emit('secureConnect');
      socket.emit('session', ticket);
      return sessions.find(owner);
    };
    const fourMinutesAgo = performance.now() - 4 * 60_000;
    expect(renew(fourMinutesAgo, true)?.checkedAt).to.equal(fourMinutesAgo);
    expect(renew(performance.now() - 6 * 60_000, true)).to.equal(undefined);
    expect(renew(fourMinutesAgo, false)?.checkedAt).to.be.above(fourMinutesAgo);
  });
});
