import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createSource, type Source } from '../../../gateway/source/fetch.js';
import type { Attributes, Step } from '../../../gateway/tracing/tracing.js';
import { skipWithout } from '../../needs.js';
import { hasOpenssl, makeCertificate } from './certificate.js';
import { rejection } from './raw-server.js';

describe('a download that is traced', () => {
  let server: https.Server;
  let source: Source;
  let asked: [host: string | undefined, IncomingHttpHeaders][];
  let told: Attributes[];
  let ended: unknown[];
  let own: string;

  before(async function () {
    if (!hasOpenssl()) skipWithout(this, 'the openssl command');
    const certificate = makeCertificate('DNS:own.example,DNS:stranger.example');
    server = https.createServer(certificate, (req, res) => {
      asked.push([req.headers.host?.split(':')[0], req.headers]);
      if (req.url === '/away') res.writeHead(302, { location: 'https://stranger.example/' }).end();
      else if (req.url === '/back') res.writeHead(302, { location: `${own}/` }).end();
      else res.end('here');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    own = `https://own.example:${port}`;
    source = createSource({
      origins: [own],
      timeoutMs: 60_000,
      maxBytes: 1000,
      ca: certificate.cert,
      resolve: async () => ['93.184.216.34'],
      resolveExempt: async () => ['192.0.2.1'],
      // As if it were there: where a connection leads to is looked at, too.
      connect: ({ host }) =>
        Object.defineProperty(net.connect(port, '127.0.0.1'), 'remoteAddress', { value: host }),
    });
  });

  beforeEach(() => {
    asked = [];
    told = [];
    ended = [];
  });

  after(async () => {
    await source?.close();
    server?.close();
  });

  const step: Step = {
    set: (attributes) => void told.push(attributes),
    end: (error) => void ended.push(error),
    headers: () => ({ traceparent: 'a trace', tracestate: 'its state' }),
  };
  const fetch = (url: string) =>
    source.fetch(source.check(url), { trace: { part: () => step }, accept: '*/*' });
  const whoKnows = () => asked.map(([host, { traceparent, tracestate }]) => [host, traceparent, tracestate]);

  it('tells the operator’s own servers of it', async () => {
    await fetch(`${own}/`);
    expect(whoKnows()).to.deep.equal([['own.example', 'a trace', 'its state']]);
    expect(told).to.deep.equal([{ 'http.response.status_code': 200, 'http.response.body.size': 4 }]);
    expect(ended).to.deep.equal([undefined]);
  });

  it('tells no stranger of it, asked or redirected to', async () => {
    await fetch('https://stranger.example/');
    await fetch(`${own}/away`);
    await fetch('https://stranger.example/back');
    expect(whoKnows()).to.deep.equal([
      ['stranger.example', undefined, undefined],
      ['own.example', 'a trace', 'its state'],
      ['stranger.example', undefined, undefined],
      ['stranger.example', undefined, undefined],
      ['own.example', 'a trace', 'its state'],
    ]);
  });

  it('ends with the error that it ended with', async () => {
    const error = await rejection(
      source.fetch(source.check(`${own}/`), { trace: { part: () => step }, maxBytes: 1 }),
    );
    expect(ended).to.deep.equal([error]);
  });
});
