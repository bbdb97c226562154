/**
 * Run by shipped.test.ts in a network namespace of its own, in which `lo` has public addresses and /etc/hosts names
 * them: serves those addresses and fetches from them with the source as it ships, then prints what came of each url.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { createSource } from '../../../gateway/download/fetch.js';

const [keyFile = '', certFile = '', addresses = '', ...urls] = process.argv.slice(2);
const seen: string[] = [];
const tls = { key: readFileSync(keyFile), cert: readFileSync(certFile) };
const servers = [...addresses.split(','), '127.0.0.1', '::1'].map((address) => {
  const server = https.createServer(tls, (request, response) => {
    seen.push(`${address} ${request.headers.host}`);
    const target = new URL(request.url ?? '', 'https://a').searchParams.get('to');
    if (target) response.writeHead(302, { location: target }).end();
    else response.end('picture');
  });
  return server.on('connection', () => seen.push(address)).listen(443, address);
});
await Promise.all(servers.map((server) => once(server, 'listening')));

const source = createSource({ timeoutMs: 60_000, maxBytes: 1000 });
async function resultOf(url: string, tenant?: string) {
  seen.length = 0;
  const outcome = await source.fetch({ href: url }, { tenant }).then(
    ({ body }) => Buffer.from(body).toString(),
    (error: { code?: string }) => error.code ?? String(error),
  );
  return { outcome, seen: [...seen] };
}

const results: unknown[] = [];
for (const url of urls) results.push(await resultOf(url));

/** The first url for a tenant, twice, then once more when its name has come to mean this machine. */
const moved: unknown[] = [];
const [first = ''] = urls;
for (let round = 0; round < 2; round++) moved.push(await resultOf(first, 'tenant'));
writeFileSync('/etc/hosts', `127.0.0.1 ${new URL(first).hostname}\n`);
moved.push(await resultOf(first, 'tenant'));
await source.close();
for (const server of servers) server.close();
process.stdout.write(JSON.stringify({ results, moved }));
