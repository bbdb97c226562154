/**
 * Prints the CPU that a download of 20 KB costs the gateway's main thread over a new connection, one with a resumed TLS session and
 * one that was kept, in turn, and each in relation to the first. The server is another process.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createSource } from '../../gateway/download/fetch.js';
import { bytesFrom } from '../gateway/download/bytes-from.js';
import { makeCertificate } from '../gateway/download/certificate.js';
import { type Contender, inTurns, ownCpuMs, printTable, ratio } from './measure.js';

/** As most servers on the internet have it: a root that is known, an authority under it, and the server's own. */
const root = makeCertificate('DNS:root.example');
const authority = makeCertificate('DNS:authority.example', root);
const { key, cert } = makeCertificate('IP:127.0.0.1', authority);
const server = fork(fileURLToPath(new URL('./source-server.js', import.meta.url)), { execArgv: [] });
server.send({ key, cert: cert + authority.cert });
const [origins] = (await once(server, 'message')) as [string[]];
const source = createSource({ origins, timeoutMs: 10_000, maxBytes: 1_000_000, ca: root.cert });

const fetch = (url: string, tenant?: string) => bytesFrom(source, source.check(url), { tenant });
function downloaded(url: string, tenant?: string): Contender {
  return {
    cpuMs: ownCpuMs,
    async work(pieces) {
      for (let done = 0; done < pieces; done += 1) await fetch(url, tenant);
    },
  };
}

const ways = origins.flatMap((origin) => {
  const [scheme = ''] = origin.split(':');
  return [
    { scheme, name: 'new', contender: downloaded(`${origin}/close`) },
    ...(scheme === 'https'
      ? [{ scheme, name: 'resumed', contender: downloaded(`${origin}/close`, 'tenant') }]
      : []),
    { scheme, name: 'kept', contender: downloaded(`${origin}/keep`, 'keeping tenant') },
  ];
});
const costs = await inTurns(
  ways.map(({ contender }) => contender),
  { fewest: 20, turnMs: 30, rounds: 40 },
);
const costOf = (at: number) => costs[at]?.cpuMs ?? Number.NaN;
printTable(
  ['a download', 'µs of CPU', 'of a new one'],
  ways.map(({ scheme, name }, at) => {
    const first = ways.findIndex((way) => way.scheme === scheme);
    return [`${scheme}, ${name}`, (costOf(at) * 1000).toFixed(0), ratio(costOf(at), costOf(first))];
  }),
);
await source.close();
server.disconnect();
