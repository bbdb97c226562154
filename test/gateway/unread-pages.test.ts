import type { Socket } from 'node:net';
import { expect } from 'chai';
import { chunkBytes, createOutboundBudget, type OutboundBudget } from '../../gateway/http/outbound-budget.js';
import { until } from '../needs.js';
import { gauge, shareGateway, type TestGateway } from './harness.js';
import { open } from './raw-client.js';
import { openTestSite, operatorToken as siteToken } from './site/test-site.js';

/** Asks for a path so many times on one connection and reads nothing. */
function askAndRest(url: string, path: string, { times = 1, head = '' } = {}): Socket {
  const socket = open(url).pause();
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${head}\r\n`.repeat(times));
  return socket;
}

async function assetOf(url: string, page: string, pattern: RegExp): Promise<string> {
  const [path] = pattern.exec(await (await fetch(new URL(page, url))).text()) ?? [];
  if (path === undefined) throw new Error(`no ${pattern} in ${page}`);
  return path;
}

describe('pages that are asked for and not read', () => {
  let gateway: TestGateway;
  before(async () => {
    ({ api: gateway } = await shareGateway());
  });

  it('count on both ports as any answer does, until their client has gone', async () => {
    const { url, connectUrl } = gateway.gateway;
    const unread = () => gauge(connectUrl, 'output_bytes');
    const script = await assetOf(url, '/docs', /\/docs\/assets\/[^"]*swagger-ui-bundle\.js/);
    const style = await assetOf(connectUrl, '/sign-in', /\/assets\/[^"]*site\.css/);
    for (const [base, path, times] of [
      [url, script, 30],
      [url, '/openapi.json', 300],
      [connectUrl, style, 2000],
    ] as const) {
      const socket = askAndRest(base, path, { times });
      expect(await until(unread), path).to.be.above(0);
      socket.destroy();
      await until(async () => (await unread()) === 0);
    }
  });
});

describe('a page of the key site within the outbound budget', () => {
  let now: number;
  let outboundBudget: OutboundBudget;
  let socket: Socket | undefined;
  beforeEach(() => {
    now = 0;
    outboundBudget = createOutboundBudget({ bytes: 4 * chunkBytes, onRoom: () => undefined, now: () => now });
  });
  afterEach(() => {
    socket?.destroy();
    outboundBudget.close();
  });

  /** Time goes on, and the client reads nothing: at first the system still takes some of it. */
  async function restUntilCutOff(): Promise<void> {
    await until(() => {
      now += 1000;
      return outboundBudget.stats().bytes === 0;
    });
    socket?.resume();
    await until(() => socket?.readableEnded || socket?.destroyed);
  }

  it('is given up when its client rests, and refused to a client with too much unread', async () => {
    const body = 'x'.repeat(32 * 1024 * 1024);
    const site = await openTestSite({
      outbound: outboundBudget,
      metrics: async () => ({ type: 'text/plain', body }),
    });
    const authorization = `Bearer ${siteToken}`;
    socket = askAndRest(site.url, '/metrics', { head: `Authorization: ${authorization}\r\n` });
    await until(() => outboundBudget.stats().bytes === body.length);
    const refused = await fetch(`${site.url}/metrics`, { headers: { authorization } });
    expect([refused.status, refused.headers.has('retry-after')]).to.deep.equal([503, true]);
    expect((await refused.json()).error.code).to.equal('busy');
    expect((await fetch(`${site.url}/sign-in`)).status, 'others are served').to.equal(200);
    await restUntilCutOff();
    await site.close();
  });

  it('is refused to anonymous clients with too much unread, and to no others', async () => {
    const site = await openTestSite({ outbound: outboundBudget });
    const style = await assetOf(site.url, '/sign-in', /\/assets\/[^"]*site\.css/);
    socket = askAndRest(site.url, style, { times: 2000 });
    await until(() => outboundBudget.backlog(''));
    const refused = await fetch(`${site.url}/sign-in`);
    expect(refused.status).to.equal(503);
    expect(await refused.text()).to.include('have not read them yet');
    const authorization = `Bearer ${siteToken}`;
    const metrics = await fetch(`${site.url}/metrics`, { headers: { authorization } });
    expect(metrics.status).to.equal(200);
    await site.close();
  });
});
