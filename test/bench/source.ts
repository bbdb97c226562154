/**
 * Prints the CPU that a download of 20 KB costs the gateway's main thread over a new connection, one with a resumed TLS session and
 * one that was kept, in turn, and each in relation to the first. The server is another process.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createSource } from '../../gateway/source/fetch.js';
import { makeCertificate } from '../gateway/source/certificate.js';

const rounds = 40;
const downloads = 20;

/** As most servers on the internet have it: a root that is known, an authority under it, and the server's own. */
const root = makeCertificate('DNS:root.example');
const authority = makeCertificate('DNS:authority.example', root);
const { key, cert } = makeCertificate('IP:127.0.0.1', authority);
const server = fork(fileURLToPath(new URL('./source-server.js', import.meta.url)), { execArgv: [] });
server.send({ key, cert: cert + authority.cert });
const [origins] = (await once(server, 'message')) as [string[]];
const source = createSource({ origins, timeoutMs: 10_000, maxBytes: 1_000_000, ca: root.cert });

const fetch = (url: string, tenant?: string) => source.fetch(source.check(url), { tenant });
const variants = origins.flatMap((origin) => {
  const https = origin.startsWith('https');
  return [
    { name: `${https ? 'https' : 'http'}, new`, run: () => fetch(`${origin}/close`) },
    ...(https ? [{ name: 'https, resumed', run: () => fetch(`${origin}/close`, 'tenant') }] : []),
    { name: `${https ? 'https' : 'http'}, kept`, run: () => fetch(`${origin}/keep`, 'keeping tenant') },
  ].map((variant) => ({ ...variant, first: `${https ? 'https' : 'http'}, new`, costs: [] as number[] }));
});

for (let round = -5; round < rounds; round += 1) {
  for (const { run, costs } of variants) {
    const before = process.cpuUsage();
    for (let done = 0; done < downloads; done += 1) await run();
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) costs.push((user + system) / downloads);
  }
}

const median = (name: string) =>
  variants.find((variant) => variant.name === name)?.costs.sort((a, b) => a - b)[rounds / 2] ?? 0;
for (const { name, first } of variants) {
  const ratio = median(name) / median(first);
  console.log(`${name.padEnd(20)} ${median(name).toFixed(0).padStart(6)} µs CPU   × ${ratio.toFixed(2)}`);
}
await source.close();
server.disconnect();
