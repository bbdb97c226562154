import { EventEmitter, once } from 'node:events';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import type { SecureVersion, TLSSocket, TlsOptions } from 'node:tls';
import { expect } from 'chai';
import { createSessions } from '../../../gateway/download/connection.js';
import { createPost, createSource, type SourceOptions } from '../../../gateway/download/fetch.js';
import { errorTable } from '../../../gateway/errors.js';
import type { Attributes, Step } from '../../../gateway/observability/tracing.js';
import { words } from '../../examples.js';
import { skipWithout, until } from '../../needs.js';
import { type Certificate, hasOpenssl, makeCertificate } from './certificate.js';
import { codeOf, ok, type RawServer, redirect, rejection, startRawServer } from './raw-server.js';

describe('the guard', () => {
  let server: RawServer;
  before(async () => {
    server = await startRawServer((socket, path) =>
      socket.end(path === '/away' ? redirect('https://rebind.example/') : ok('x')),
    );
  });
  beforeEach(() => {
    server.requests.length = 0;
  });
  after(() => server.close());

  /** Downloads and messages whose every connection is noted and then led to loopback, as a hostile network would. */
  function observed(options: Partial<SourceOptions> = {}) {
    const dialled: string[] = [];
    const guarded: SourceOptions = {
      timeoutMs: 60_000,
      maxBytes: 1000,
      connect({ host, port }) {
        dialled.push(`${host} ${port}`);
        return net.connect(Number(new URL(server.origin).port), '127.0.0.1');
      },
      ...options,
    };
    const [source, post] = [createSource(guarded), createPost(guarded)];
    const send = (checked: { href: string }) => post.send(checked, { body: Buffer.of(1), headers: {} });
    return {
      dialled,
      download: { check: source.check, go: source.fetch },
      message: { check: post.check, go: send },
    };
  }
  const failing = (code: string) => () => Promise.reject(Object.assign(new Error('x'), { code }));

  for (const kind of ['download', 'message'] as const) {
    describe(`of a ${kind}`, () => {
      /** What it ends with, and where it has connected to. */
      async function outcome(url: string, options: Partial<SourceOptions> = {}) {
        const { dialled, [kind]: guarded } = observed(options);
        const { code, message } = await rejection(guarded.go(guarded.check(url)));
        return { code, message, dialled };
      }

      it('checks a url without any I/O, and says the same of all that may not be fetched', () => {
        const { check } = observed()[kind];
        const refused = words`
          http://example.com/ https://example.com:8443/ https://user:pass@example.com/ https://127.0.0.1/
          https://169.254.169.254/ https://metadata.internal/ file:///etc/passwd http://127.0.0.1:1/
        `;
        const checked = (url: string) => expect(() => check(url, 'webhook.url'), url).to.throw();
        const same = { code: 'source_refused', message: errorTable.source_refused.message };
        for (const url of refused)
          checked(url).that.deep.includes({ ...same, details: undefined, headers: {} });
        checked('photo.jpg').with.nested.include({
          code: 'invalid_input',
          'details[0].field': 'webhook.url',
        });
        expect(check('https://example.com/hook').href).to.equal('https://example.com/hook');
      });

      it('checks a url again before it connects, even one that claims to be checked', async () => {
        const { dialled, [kind]: guarded } = observed();
        expect(await codeOf(guarded.go({ href: 'https://10.0.0.1/' }))).to.equal('source_refused');
        expect(dialled).to.deep.equal([]);
      });

      it('connects to the very address that was checked, and checks the peer again', async () => {
        const answers = [['93.184.216.34'], ['127.0.0.1']];
        const resolve = async () => answers.shift() ?? [];
        const { code, dialled } = await outcome('https://rebind.example/', { resolve });
        expect([code, dialled]).to.deep.equal(['source_refused', ['93.184.216.34 443']]);
        expect(answers, 'one look-up').to.have.length(1);
        expect(server.requests).to.have.length(0);
      });

      for (const list of words`127.0.0.1 93.184.216.34,10.0.0.1 ::ffff:10.0.0.1,93.184.216.34 2606:4700::1,fe80::1%eth0 x`)
        it(`connects nowhere for a name with the addresses ${list}`, async () => {
          const resolve = async () => list.split(',');
          const { code, dialled } = await outcome('https://mixed.example/', { resolve });
          expect([code, dialled]).to.deep.equal(['source_refused', []]);
        });

      it('refuses a name without an address as it does one of an inside address', async () => {
        const inside = await outcome('https://a.example/', { resolve: async () => ['10.0.0.1'] });
        expect(inside.code).to.equal('source_refused');
        for (const resolve of [async () => [], failing('ENOTFOUND'), failing('ENODATA')])
          expect(await outcome('https://a.example/', { resolve })).to.deep.equal(inside);
      });

      it('fails where the name servers do not answer', async () => {
        const { code } = await outcome('https://a.example/', { resolve: failing('ETIMEOUT') });
        expect(code).to.equal('source_failed');
      });
    });
  }

  it('checks the addresses of each redirect', async () => {
    const resolve = async () => ['192.168.0.1'];
    const { dialled, download } = observed({ origins: [server.origin], resolve });
    expect(await codeOf(download.go(download.check(`${server.origin}/away`)))).to.equal('source_refused');
    expect(dialled).to.have.length(1);
  });

  it('tries the next address, but no more than four', async () => {
    const addresses = Array.from({ length: 100 }, (_, index) => `93.184.216.${index}`);
    const tried: string[] = [];
    const { download } = observed({
      resolve: async () => addresses,
      connect: ({ host }) => {
        tried.push(host);
        return new net.Socket().destroy(new Error('unreachable'));
      },
    });
    expect(await codeOf(download.go({ href: 'https://many.example/' }))).to.equal('source_failed');
    expect(tried).to.deep.equal(addresses.slice(0, 4));
  });

  it("looks an exempt origin's name up as the system does, whatever address it has", async () => {
    const origin = `http://localhost:${new URL(server.origin).port}`;
    const resolve = async () => [];
    const source = createSource({ origins: [origin], timeoutMs: 60_000, maxBytes: 10, resolve });
    expect((await source.fetch(source.check(origin))).body).to.have.length(1);
  });
});

/** An https server on loopback, which answers with the host that was asked for unless `answer` says otherwise. */
async function startTlsServer(
  options: TlsOptions,
  answer: RequestListener = ({ headers }, response) => void response.end(headers.host),
) {
  const resumed: boolean[] = [];
  const sockets = new Set<TLSSocket>();
  const server = https.createServer(options, answer).listen(0, '127.0.0.1');
  server.on('secureConnection', (socket: TLSSocket) => {
    resumed.push(socket.isSessionReused());
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  });
  await once(server, 'listening');
  const drop = async () => {
    for (const socket of sockets) socket.destroy();
    await until(() => sockets.size === 0);
  };
  return {
    port: (server.address() as AddressInfo).port,
    /** Of each connection, whether it resumed a session. */
    resumed,
    /** Closes open connections, so that the next download has to connect. */
    drop,
    async close() {
      await drop();
      server.close();
      await once(server, 'close');
    },
  };
}

for (const version of ['TLSv1.2', 'TLSv1.3'] satisfies SecureVersion[]) {
  describe(`createSource, over ${version}`, () => {
    let certificate: Certificate;
    let server: Awaited<ReturnType<typeof startTlsServer>>;
    let source: ReturnType<typeof createSource>;
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

    async function get(name = 'one', tenant: string | undefined = 'a', port = server.port) {
      const { body } = await source.fetch(source.check(`https://${name}.example:${port}/`), { tenant });
      return Buffer.from(body).toString();
    }

    it('uses a connection for no other host at the same address, although the certificate names both', async () => {
      for (const name of ['one', 'two']) expect(await get(name)).to.equal(`${name}.example:${server.port}`);
      expect(server.resumed).to.deep.equal([false, false]);
      expect(await codeOf(get('false'))).to.equal('source_failed');
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
      expect(await codeOf(get())).to.equal('source_refused');
    });

    it('resumes a session of the same tenant and host where no connection is left', async () => {
      for (let round = 0; round < 3; round++) {
        await get();
        await server.drop();
      }
      expect(server.resumed).to.deep.equal([false, true, true]);
    });

    it('resumes none of another tenant or host, nor one without a tenant', async () => {
      await get('one', 'a');
      await server.drop();
      await get('one', 'b');
      await get('two', 'a');
      await source.fetch(source.check(`https://one.example:${server.port}/`));
      expect(server.resumed).to.deep.equal([false, false, false, false]);
    });

    it('shakes hands in full, and checks the certificate, where the server has forgotten the session', async () => {
      await get();
      const { port } = server;
      await server.close();
      server = await startTlsServer({ ...makeCertificate('DNS:one.example'), maxVersion: version });
      expect(await codeOf(get('one', 'a', port))).to.equal('source_failed');
    });

    it('remembers no session whose certificate was not good', async () => {
      for (let round = 0; round < 2; round++) expect(await codeOf(get('false'))).to.equal('source_failed');
      expect(dialled).to.have.length(2);
      expect(server.resumed).to.not.include(true);
    });
  });
}

describe('createSessions', () => {
  const owner = { tenant: 'a', origin: 'https://example.com' };
  const ticket = Buffer.from('ticket');

  const sessions = createSessions();
  /** As much of a TLS socket as matters here, once it has shaken hands; `checkedAt` is that of the session it offered. */
  function connected(checkedAt?: number, isResumed = false) {
    const socket = Object.assign(new EventEmitter(), { isSessionReused: () => isResumed });
    const offered = checkedAt === undefined ? undefined : { ticket, checkedAt };
    sessions.watch(owner, socket as unknown as TLSSocket, offered);
    socket.emit('secureConnect');
    return socket;
  }

  it('remembers the last that came, if it is no longer than 16 KB', () => {
    const socket = connected();
    for (const each of [Buffer.from('earlier'), ticket]) socket.emit('session', each);
    expect(sessions.find(owner)?.ticket).to.equal(ticket);
    socket.emit('session', Buffer.alloc(20_000));
    expect(sessions.find(owner)).to.equal(undefined);
  });

  it('lets one that came of another live no longer than that, which is five minutes', () => {
    const renew = (checkedAt: number, isResumed: boolean) => {
      connected(checkedAt, isResumed).emit('session', ticket);
      return sessions.find(owner);
    };
    const fourMinutesAgo = performance.now() - 4 * 60_000;
    expect(renew(fourMinutesAgo, true)?.checkedAt).to.equal(fourMinutesAgo);
    expect(renew(performance.now() - 6 * 60_000, true)).to.equal(undefined);
    expect(renew(fourMinutesAgo, false)?.checkedAt).to.be.above(fourMinutesAgo);
  });
});

describe('a download that is traced', () => {
  let server: Awaited<ReturnType<typeof startTlsServer>>;
  let source: ReturnType<typeof createSource>;
  let own: string;
  /** The trace that each host saw. */
  let asked: string[];
  let attributes: Attributes[];
  let ended: unknown[];

  before(async function () {
    if (!hasOpenssl()) skipWithout(this, 'the openssl command');
    const certificate = makeCertificate('DNS:own.example,DNS:stranger.example');
    const traceIn = ({ host = '', traceparent = '-', tracestate = '-' }: IncomingHttpHeaders) =>
      `${host.split(':')[0]} ${traceparent} ${tracestate}`;
    server = await startTlsServer(certificate, ({ url, headers }, response) => {
      asked.push(traceIn(headers));
      const to = { '/away': 'https://stranger.example/', '/back': `${own}/` }[url ?? ''];
      if (to) response.writeHead(302, { location: to }).end();
      else response.end('here');
    });
    own = `https://own.example:${server.port}`;
    source = createSource({
      origins: [own],
      timeoutMs: 60_000,
      maxBytes: 1000,
      ca: certificate.cert,
      resolve: async () => ['93.184.216.34'],
      resolveExempt: async () => ['192.0.2.1'],
      // As if it were there: where a connection leads to is checked, too.
      connect: ({ host }) =>
        Object.defineProperty(net.connect(server.port, '127.0.0.1'), 'remoteAddress', { value: host }),
    });
  });
  beforeEach(() => {
    [asked, attributes, ended] = [[], [], []];
  });
  after(async () => {
    await source?.close();
    await server?.close();
  });

  const step: Step = {
    set: (given) => void attributes.push(given),
    end: (error) => void ended.push(error),
    headers: () => ({ traceparent: 'trace', tracestate: 'state' }),
  };
  const fetch = (url: string, maxBytes?: number) =>
    source.fetch(source.check(url), { trace: { part: () => step }, maxBytes });

  it('shows its trace to the operator’s own servers, and to no stranger, asked or redirected to', async () => {
    await fetch(`${own}/`);
    expect(attributes).to.deep.equal([{ 'http.response.status_code': 200, 'http.response.body.size': 4 }]);
    for (const url of ['https://stranger.example/', `${own}/away`, 'https://stranger.example/back'])
      await fetch(url);
    const [known, strange] = ['own.example trace state', 'stranger.example - -'];
    expect(asked).to.deep.equal([known, strange, known, strange, strange, known]);
    expect(ended).to.deep.equal([undefined, undefined, undefined, undefined]);
  });

  it('ends with the error that it ended with', async () => {
    expect([await rejection(fetch(`${own}/`, 1))]).to.deep.equal(ended);
  });
});
