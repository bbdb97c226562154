import { exchange, inParallel } from '../client.js';
import { mutate, type Random } from '../mutate.js';
import type { Scenario } from '../scenario.js';
import type { World } from '../world.js';

/** Every header that something reads, with what it may well hold. */
const headers: Readonly<Record<string, readonly string[]>> = {
  host: ['127.0.0.1', 'localhost:8081', '[::1]'],
  'content-type': [
    'application/json',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded; charset=utf-8',
  ],
  'content-length': ['13', '0', '10485760'],
  'transfer-encoding': ['chunked', 'identity', 'gzip, chunked'],
  'content-encoding': ['identity', 'gzip', 'br'],
  expect: ['100-continue', '200-ok'],
  connection: ['keep-alive', 'close', 'upgrade', 'close, host'],
  upgrade: ['websocket', 'h2c'],
  'keep-alive': ['timeout=5'],
  authorization: ['Bearer hg_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'Basic eDp5'],
  accept: ['application/json', 'image/webp,*/*;q=0.8'],
  'accept-encoding': ['gzip, br'],
  'accept-language': ['en;q=0.5, de'],
  'if-none-match': ['"x"', 'W/"x", *'],
  'if-match': ['"x"'],
  'if-modified-since': ['Sat, 21 Nov 2026 00:00:00 GMT'],
  range: ['bytes=0-10', 'bytes=-1'],
  cookie: ['a=b; session=x.y', '__Host-x=%41'],
  origin: ['http://127.0.0.1', 'null'],
  referer: ['http://127.0.0.1/x?y'],
  'sec-fetch-site': ['same-origin', 'cross-site'],
  'access-control-request-method': ['POST'],
  'access-control-request-headers': ['authorization'],
  'x-forwarded-for': ['10.0.0.1, ::1', 'unknown'],
  'x-forwarded-proto': ['https'],
  'x-forwarded-host': ['a.example'],
  forwarded: ['for=1.2.3.4;proto=https'],
  'x-request-id': ['1'],
  traceparent: ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  te: ['trailers'],
  trailer: ['x'],
  date: ['x'],
};

const words = [
  ...',;="\\ \t*%/:\x01\x7f\xff',
  ..."%00 -1 0x10 1e9 q=0.5 chunked close boundary= charset= '' utf-8 bytes= __proto__".split(' '),
  ...['9'.repeat(25), 'Bearer ', '\r\n x', '\r\nhost: b'],
];

/** A changed value; now and then one that is very long or given twice. */
function line(random: Random, name: string): string {
  const value = random.pick(headers[name] ?? ['']);
  const changed = mutate(random, Buffer.from(value), words)
    .toString('latin1')
    .slice(0, random.pick([100, 100, 3_000, 12_000]));
  const text = `${name}: ${random.below(8) === 0 ? value : changed}\r\n`;
  return random.below(10) === 0 ? text + text : text;
}

function requestOf(random: Random, world: World): string {
  const post = random.below(2) === 0;
  const path = random.pick(
    '/text/remove-stopwords /media/add-border /healthz /api/tenants /sign-in /metrics'.split(' '),
  );
  const target = `${path}?ak=${world.key}&dryrun=1`;
  const names = Array.from({ length: 1 + random.below(3) }, () => random.pick(Object.keys(headers)));
  const lines = names.map((name) => line(random, name)).join('');
  const body = '{"text":"the"}';
  const framing = post ? `content-type: application/json\r\ncontent-length: ${body.length}\r\n` : '';
  const own = names.some((name) => /^(content|transfer)-/.test(name)) ? '' : framing;
  return `${post ? 'POST' : 'GET'} ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines}${own}\r\n${post ? body : ''}`;
}

const targetWords = [
  ...'/\\%?#&=;@:[]* \t\r\n\x01\xff',
  ...'// .. %2e%2e %00 %zz http:// https://a:99999 HTTP/1.1 HTTP/2.0 POST ak='.split(' '),
  ...['CONNECT ', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '&a'.repeat(300)],
];

function requestLine(random: Random, world: World): Buffer {
  const first = Buffer.from(`GET /text/remove-stopwords?text=the+cat&dryrun=1&ak=${world.key} HTTP/1.1`);
  const rest = random.pick([
    '\r\nhost: x\r\n\r\n',
    '\r\nhost: x\r\nconnection: close\r\n\r\n',
    '\n\n',
    '\r\n\r\n',
  ]);
  return Buffer.concat([mutate(random, first, targetWords), Buffer.from(rest)]);
}

function fuzz(name: string, make: (random: Random, world: World) => Buffer): Scenario {
  return {
    name: `fuzz: ${name}`,
    bounds: { serverErrors: [] },
    async attack(world, { scale, random, tally }) {
      await inParallel({ at: 24, times: scale.calls, goesOn: world.alive }, async () => {
        const url = random.below(4) === 0 ? world.siteUrl : world.url;
        tally.count(await exchange(url, make(random, world), 150));
      });
    },
  };
}

/** Heads that are nearly right, to the API and to the site; a request that is left unfinished need not be answered. */
export const headFuzz: readonly Scenario[] = [
  fuzz('headers', (random, world) => Buffer.from(requestOf(random, world), 'latin1')),
  fuzz('request lines', requestLine),
];
