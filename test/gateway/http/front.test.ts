import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createFront } from '../../../gateway/http/front.js';
import { createLifecycle } from '../../../gateway/http/server.js';
import { until } from '../../needs.js';
import { rejection } from '../download/raw-server.js';
import { freePorts } from '../haproxy.js';
import { startTestGateway, type TestGateway } from '../harness.js';

describe('createFront', () => {
  /** A front that listens, and a promise of the first request that has come to it. */
  async function listening() {
    let came = (_: ServerResponse) => {};
    const first = new Promise<ServerResponse>((resolve) => (came = resolve));
    const probes = (_: IncomingMessage, response: ServerResponse) => {
      came(response);
      return false;
    };
    const place = { host: '127.0.0.1', port: 0, variable: 'PORT' };
    const front = createFront(createLifecycle(), place, { probes });
    return { front, first, url: await front.listen() };
  }

  it('hands over what waits when the application is there', async () => {
    const { front, first, url } = await listening();
    const early = fetch(`${url}/early`, { method: 'POST', body: 'text' });
    await first;
    front.open((request, response) => response.end(request.url));
    expect(await (await early).text()).to.equal('/early');
    expect(await (await fetch(`${url}/late`)).text()).to.equal('/late');
    await front.close(0);
  });

  it('forgets a request whose client has gone', async () => {
    const { front, first, url } = await listening();
    const gone = new AbortController();
    const early = fetch(url, { signal: gone.signal }).catch(() => undefined);
    const closed = once(await first, 'close');
    gone.abort();
    await Promise.all([early, closed]);
    let handed = 0;
    front.open(() => (handed += 1));
    expect(handed).to.equal(0);
    await front.close(0);
  });

  it('refuses what waits when it is closed', async () => {
    const { front, first, url } = await listening();
    const waiting = fetch(url);
    await first;
    const closed = front.close(5_000);
    const { status, headers } = await waiting;
    expect([status, headers.get('connection')]).to.deep.equal([503, 'close']);
    await closed;
  });
});

describe('a gateway that starts', function () {
  // A process starts.
  this.timeout(30_000);

  let folder: string;
  let url: string;
  let starting: Promise<TestGateway>;

  /** A plugin that is imported once `release` exists, and then ends its import with `last`. */
  async function start(last: string): Promise<void> {
    folder = await mkdtemp(join(tmpdir(), 'early-'));
    const release = JSON.stringify(join(folder, 'release'));
    await writeFile(
      join(folder, 'late.mjs'),
      `import { existsSync } from 'node:fs';
      while (!existsSync(${release})) await new Promise((resolve) => setTimeout(resolve, 20));
      ${last}
      export default { summary: 'Comes late.', input: { type: 'object' }, handler: () => ({}) };`,
    );
    const [port = 0, sitePort = 0] = await freePorts(2);
    url = `http://127.0.0.1:${port}`;
    starting = startTestGateway({
      PORT: String(port),
      CONNECT_PORT: String(sitePort),
      HELPER_PLUGINS: folder,
    });
    starting.catch(() => undefined);
    await until(async () => (await get('/healthz')).status === 200);
  }

  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function get(path: string) {
    const response = await fetch(`${url}${path}`).catch(() => undefined);
    return {
      status: response?.status,
      retry: response?.headers.get('retry-after'),
      text: await response?.text(),
    };
  }

  it('is alive and not ready, and lets calls wait', async () => {
    await start('');
    const ready = await get('/readyz');
    expect([ready.status, ready.retry]).to.deep.equal([503, '1']);
    expect(JSON.parse(ready.text ?? '')).to.deep.include({
      ok: false,
      error: { code: 'busy', message: 'The gateway is starting.' },
    });
    const call = get('/late');
    await writeFile(join(folder, 'release'), '');
    const { status, text = '' } = await call;
    expect([status, JSON.parse(text).meta.service]).to.deep.equal([401, 'late']);
    const api = await starting;
    expect((await get('/readyz')).status).to.equal(200);
    await api.close();
  });

  it('refuses the calls that wait where it cannot start, and says why', async () => {
    await start('throw new Error("never");');
    const call = get('/late');
    expect((await get('/readyz')).status).to.equal(503);
    await writeFile(join(folder, 'release'), '');
    expect((await rejection(starting)).message).to.include('late.mjs');
    const { status, text } = await call;
    expect([status, JSON.parse(text ?? '').error.code]).to.deep.equal([503, 'shutting_down']);
  });
});
