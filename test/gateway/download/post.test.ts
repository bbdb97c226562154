import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { createPost, type GuardOptions, type Post } from '../../../gateway/download/fetch.js';
import { until } from '../../needs.js';
import { type PostServer, startPostServer } from './post-server.js';
import { codeOf, rejection } from './raw-server.js';

const body = Buffer.from('{"a":"ä"}');

describe('createPost', () => {
  const answers: Record<string, (response: ServerResponse) => void> = { '/silent': () => undefined };
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

  it('sends a body with its headers and few of its own, once', async () => {
    expect((await send('/to?q=1')).status).to.equal(204);
    expect(server.received).to.deep.equal([
      {
        method: 'POST',
        path: '/to?q=1',
        body: body.toString(),
        headers: {
          host: server.origin.slice(7),
          connection: 'close',
          'user-agent': 'helper-gateway',
          'accept-encoding': 'identity',
          accept: '*/*',
          'x-a': 'b',
          'content-length': '10',
        },
      },
    ]);
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

  it('does not send again where the receiver breaks off', async () => {
    answers['/broken'] = (response) => response.socket?.destroy();
    expect(await codeOf(send('/broken'))).to.equal('source_failed');
    expect(server.received).to.have.length(1);
  });

  it('ends with the deadline, whether the head is slow or the name', async () => {
    answers['/drip'] = (response) => {
      const timer = setInterval(() => response.writeProcessing(), 10);
      response.on('close', () => clearInterval(timer));
    };
    const hasty = open({ timeoutMs: 100, resolve: () => new Promise(() => {}) });
    for (const path of ['/silent', '/drip'])
      expect(await codeOf(send(path, hasty))).to.equal('source_timeout');
    const lost = hasty.send(hasty.check('https://example.com/'), { body, headers: {} });
    expect(await codeOf(lost)).to.equal('source_timeout');
  });

  it('ends with the caller’s signal, and with its own close', async () => {
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
});
