import net from 'node:net';
import type { SecureVersion } from 'node:tls';
import { expect } from 'chai';
import { createSource, type Source } from '../../../gateway/source/fetch.js';
import { skipWithout } from '../../needs.js';
import { until } from '../../until.js';
import { bytesFrom } from './bytes-from.js';
import { type Certificate, hasOpenssl, makeCertificate } from './certificate.js';
import { rejection } from './raw-server.js';
import { startTlsServer, type TlsServer } from './tls-server.js';

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

    it('keeps a connection for the same host', async () => {
      for (let round = 0; round < 3; round++) expect(await get()).to.equal(`one.example:${server.port}`);
      expect(server.handshakes).to.deep.equal([false]);
    });

    it('lets one that waits keep no process alive', async () => {
      const active = () =>
        process.getActiveResourcesInfo().filter((name) => /^(TCPSocket|TLS)Wrap$/.test(name)).length;
      const others = active();
      await get();
      server.unref();
      await until(() => active() <= others);
      expect(server.open()).to.equal(1);
    });

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
