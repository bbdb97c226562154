import type { ServerResponse } from 'node:http';
import net from 'node:net';
import { expect } from 'chai';
import { createPost, type GuardOptions, type Post } from '../../../gateway/download/fetch.js';
import { until } from '../../needs.js';
import { type PostServer, startPostServer } from './post-server.js';
import { rejection } from './raw-server.js';

const body = Buffer.from('{"a":"ä"}');

describe('createPost', () => {
  const answers: Record<string, (response: ServerResponse) => void> = {};
  const posts: Post[] = [];
  let server: PostServer;
  before(async () => {
    server = await startPostServer((response, { path }) =>
      answers[path] ? answers[path](response) : response.writeHead(204).end(),
    );
  });
  afterEach(async () => {
    for (const post of posts.splice(0)) await post.close();
    server.received.length = 0;
    await until(() => server.open() === 0);
  });
  after(() => server.close());

  function open(options: Partial<GuardOptions> = {}): Post {
    const post = createPost({ origins: [server.origin], timeoutMs: 60_000, ...options });
    posts.push(post);
    return post;
  }
  const send = (path: string, post = open(), signal?: AbortSignal) =>
    post.send(post.check(server.origin + path), { body, headers: { 'x-a': 'b' }, signal });
  const codeOf = async (sent: Promise<unknown>) => (await rejection(sent)).code;

  it('sends a body with its headers and few of its own, once', async () => {
    expect((await send('/to?q=1')).status).to.equal(204);
    expect(server.received).to.have.length(1);
    const [{ method, path, headers, body: received } = {}] = server.received;
    expect([method, path, received]).to.deep.equal(['POST', '/to?q=1', body.toString()]);
    expect(headers).to.deep.equal({
      host: server.origin.slice(7),
      connection: 'close',
      'user-agent': 'helper-gateway',
      'accept-encoding': 'identity',
      accept: '*/*',
      'x-a': 'b',
      'content-length': '10',
    });
  });

  it('gives the status and the headers, whatever they are, and waits for no body', async () => {
    answers['/busy'] = (response) => response.writeHead(503, { 'retry-after': '7' }).end('x'.repeat(1e6));
    answers['/gzip'] = (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
    answers['/endless'] = (response) => response.writeHead(202).write('x');
    const busy = await send('/busy');
    expect([busy.status, busy.headers['retry-after']]).to.deep.equal([503, '7']);
    expect((await send('/gzip')).status).to.equal(200);
    expect((await send('/endless')).status).to.equal(202);
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`does not follow a ${status}`, async () => {
      answers['/away'] = (response) => response.writeHead(status, { location: '/there' }).end();
      answers['/nowhere'] = (response) => response.writeHead(status).end();
      expect((await send('/away')).status).to.equal(status);
      expect((await send('/nowhere')).status).to.equal(status);
      expect(server.received.map(({ path }) => path)).to.deep.equal(['/away', '/nowhere']);
    });
  }

  it('does not send again where the receiver breaks off', async () => {
    answers['/broken'] = (response) => response.socket?.destroy();
    expect(await codeOf(send('/broken'))).to.equal('source_failed');
    expect(server.received).to.have.length(1);
  });

  it('ends with the deadline, whether the head is slow or the name', async () => {
    answers['/silent'] = () => undefined;
    answers['/drip'] = (response) => {
      const timer = setInterval(() => response.writeProcessing(), 10);
      response.on('close', () => clearInterval(timer));
    };
    const hasty = open({ timeoutMs: 100 });
    for (const path of ['/silent', '/drip'])
      expect(await codeOf(send(path, hasty))).to.equal('source_timeout');
    const dark = open({ timeoutMs: 50, resolve: () => new Promise(() => {}) });
    const lost = dark.send(dark.check('https://example.com/'), { body, headers: {} });
    expect(await codeOf(lost)).to.equal('source_timeout');
  });

  it('ends with the caller’s signal, and with its own close', async () => {
    answers['/silent'] = () => undefined;
    const caller = new AbortController();
    const reason = new Error('enough');
    const aborted = rejection(send('/silent', open(), caller.signal));
    await until(() => server.received.length === 1);
    caller.abort(reason);
    expect(await aborted).to.equal(reason);
    const post = open();
    const ended = codeOf(send('/silent', post));
    await until(() => server.received.length === 2);
    await post.close();
    expect(await ended).to.equal('shutting_down');
    expect(await codeOf(send('/silent', post))).to.equal('shutting_down');
  });

  describe('is guarded', () => {
    /** Leads every connection to the receiver, as a hostile network would. */
    function observed(options: Partial<GuardOptions>) {
      const dialled: string[] = [];
      const post = open({
        connect: ({ host, port }) => {
          dialled.push(`${host} ${port}`);
          return net.connect(Number(new URL(server.origin).port), '127.0.0.1');
        },
        ...options,
      });
      const codeOfUrl = (url: string) => codeOf(post.send(post.check(url), { body, headers: {} }));
      return { dialled, codeOfUrl };
    }

    it('judges a url without any I/O, by the field that held it', () => {
      const post = open();
      for (const url of [
        'https://127.0.0.1/',
        'https://169.254.169.254/',
        'http://example.com/',
        'https://example.com:8443/',
        'https://user:pass@example.com/',
        'https://metadata.internal/',
        'http://127.0.0.1:1/',
      ])
        expect(() => post.check(url), url)
          .to.throw()
          .with.property('code', 'source_refused');
      expect(() => post.check('nonsense', 'webhook.url'))
        .to.throw()
        .with.nested.property('details[0].field', 'webhook.url');
      expect(post.check('https://example.com/hook').href).to.equal('https://example.com/hook');
    });

    it('judges it again when it sends, whoever says that it was checked', async () => {
      const { dialled } = observed({});
      const forged = posts.at(-1)?.send({ href: 'https://10.0.0.1/' }, { body, headers: {} });
      expect(await codeOf(forged ?? Promise.resolve())).to.equal('source_refused');
      expect(dialled).to.deep.equal([]);
    });

    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '10.0.0.1'], ['fe80::1%eth0']]) {
      it(`connects nowhere for a name with the addresses ${addresses.join(', ')}`, async () => {
        const { dialled, codeOfUrl } = observed({ resolve: async () => addresses });
        expect(await codeOfUrl('https://mixed.example/')).to.equal('source_refused');
        expect(dialled).to.deep.equal([]);
      });
    }

    it('connects to the very address that was judged, and judges the peer again', async () => {
      const answers = [['93.184.216.34'], ['127.0.0.1']];
      const { dialled, codeOfUrl } = observed({ resolve: async () => answers.shift() ?? [] });
      expect(await codeOfUrl('https://rebind.example/')).to.equal('source_refused');
      expect(dialled).to.deep.equal(['93.184.216.34 443']);
      expect(answers, 'one look-up').to.have.length(1);
      expect(server.received).to.have.length(0);
    });
  });
});
