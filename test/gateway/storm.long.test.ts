import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import sharp from 'sharp';
import { fixture } from '../fixtures.js';
import { until } from '../needs.js';
import { createRandom } from '../soak/mutate.js';
import { gauge, operatorToken, startTestGateway, type TestGateway } from './harness.js';

const calls = 600;
const atOnce = 40;
const cacheBytes = 3_000_000;

describe('a storm of calls of every kind', () => {
  let api: TestGateway;
  let images: Server;
  let origin: string;
  let pictures: Buffer[];

  before(async () => {
    const noise = { type: 'gaussian' as const, mean: 128, sigma: 60 };
    const draw = (width: number) => {
      const create = { width, height: 220, channels: 3 as const, background: '#3060c0', noise };
      return sharp({ create }).jpeg({ quality: 100 }).toBuffer();
    };
    pictures = await Promise.all([300, 400, 500, 20].map(draw));
    images = createServer(answer).listen(0, '127.0.0.1');
    await once(images, 'listening');
    origin = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
    api = await startTestGateway({
      HELPER_PLUGINS: fixture('plugins/reuse'),
      HELPER_SOURCE_ORIGINS: origin,
      HELPER_OPERATOR_TOKEN: operatorToken,
      HELPER_CACHE_BYTES: String(cacheBytes),
      HELPER_POOL_THREADS: '2',
      HELPER_POOL_QUEUE: '12',
      HELPER_SOURCE_TIMEOUT_MS: '400',
    });
  });
  after(async () => {
    await api.close();
    images.closeAllConnections();
    images.close();
  });

  /** The first part of the path says how it is answered, the second which picture it is. */
  function answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
    const tag = headers['if-none-match'];
    const [, way = '', which] = url.split('/');
    const bytes = pictures[Number(which)] as Buffer;
    const cached = { 'cache-control': 'max-age=600' };
    const checked = { 'cache-control': 'no-cache', etag: '"one"' };
    const ways: Record<string, () => unknown> = {
      fresh: () => response.writeHead(200, cached).end(bytes),
      asks: () => response.writeHead(tag === '"one"' ? 304 : 200, checked).end(tag ? undefined : bytes),
      gone: () => response.writeHead(404).end(),
      torn: () =>
        response
          .writeHead(200, { 'content-length': bytes.length })
          .write(bytes.subarray(0, 1000), () => response.destroy()),
      silent: () => undefined,
      moved: () => response.writeHead(302, { location: `/fresh/${which}` }).end(),
      text: () => response.writeHead(200, cached).end('no picture at all'),
      plain: () => response.end(bytes),
    };
    ways[way]?.();
  }

  const ways = ['fresh', 'fresh', 'asks', 'asks', 'gone', 'torn', 'silent', 'moved', 'text', 'plain'];
  const paths = ['/media/add-border', '/img/add-border', '/media/add-watermark', '/says', '/anew'];
  const gauges = ['pool_places', 'pool_running', 'arriving', 'input_bytes', 'output_bytes'];
  const gaugesNow = () => Promise.all(gauges.map((name) => gauge(api.gateway.connectUrl, name)));

  it('leaves nothing counted, nor a call without its end', async () => {
    const { below, pick } = createRandom(20_210);
    const inHundred = (chance: number) => below(100) < chance;
    const statuses = new Set<string>();
    let left = calls;

    async function one(): Promise<string> {
      const path = pick(paths);
      const parameters = new URLSearchParams();
      if (path.endsWith('border')) parameters.set('width', pick(['1', '2', '30']));
      if (path.endsWith('watermark')) parameters.set('text', pick(['a', 'b']));
      const which = below(pictures.length);
      const leaving = new AbortController();
      const init: RequestInit = { signal: leaving.signal, method: pick(['GET', 'GET', 'HEAD']) };
      if (inHundred(30)) {
        const form = new FormData();
        const bytes = inHundred(20) ? Buffer.from('none') : (pictures[which] as Buffer);
        form.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'picture');
        init.method = 'POST';
        init.body = form;
      } else parameters.set('url', `${origin}/${pick(ways)}/${which}`);
      // When these leave is a matter of chance; what is left behind must not be.
      if (inHundred(40)) setTimeout(() => leaving.abort(), below(60));
      const readsBody = inHundred(80);
      try {
        const answered = await fetch(`${api.url}${path}?${parameters}&ak=${api.key}`, init);
        if (readsBody) await answered.arrayBuffer();
        else await answered.body?.cancel();
        return String(answered.status);
      } catch {
        return 'left';
      }
    }

    const caller = async () => {
      while (left > 0) {
        left -= 1;
        statuses.add(await one());
      }
    };
    await Promise.all(Array.from({ length: atOnce }, caller));
    await until(async () => (await gaugesNow()).every((value) => value === 0));
    expect([...statuses]).to.include.members(['200', '422', '502', 'left']);
    expect([...statuses]).to.not.include.members(['500']);
    expect(await gauge(api.gateway.connectUrl, 'cache_bytes')).to.be.within(1, cacheBytes);
    const again = await api.call(`/media/add-border?url=${origin}/fresh/3`);
    expect(again.status).to.equal(200);
    const ends = api.log.filter(({ status }) => status !== undefined).map(({ request_id }) => request_id);
    expect(new Set(ends).size).to.equal(ends.length);
  });
});
