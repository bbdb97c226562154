import net from 'node:net';
import { expect } from 'chai';
import { createSource, type SourceOptions } from '../../../gateway/source/fetch.js';
import { bytesFrom } from './bytes-from.js';
import { ok, type RawServer, redirect, rejection, startRawServer } from './raw-server.js';

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
