/**
 * Prints what a picture costs the gateway that was made before, processor time of the whole server, beside one that was not: by a url
 * and as an upload, sent again or known to the client already (304). `node dist/test/bench/cache.js [FILE]`
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Call } from '../soak/client.js';
import { atMost, type Goal, inTurns, printGoals, printTable } from './measure.js';
import { pictures } from './pictures.js';
import { asked, fresh, startGateway, turnMs, upload } from './servers.js';

const { from, sizes } = await pictures(process.argv[2]);
console.log(`  ${from}; a border, jpg; ms of CPU for one picture`);

/** The picture of the path's number on every path, as long as HTTP lets it be kept; `/0/17` is another file than `/0/18`. */
const server = createServer(({ url = '' }, response) => {
  const { bytes } = sizes[Number(url.split('/')[1])] as (typeof sizes)[number];
  const headers = { 'content-type': 'image/jpeg', 'cache-control': 'max-age=86400' };
  response.writeHead(200, headers);
  response.write(bytes);
  response.end(url);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const gateway = await startGateway({ HELPER_SOURCE_ORIGINS: origin });

const rows: string[][] = [];
const judged: Goal[] = [];
for (const [size, { name, bytes }] of sizes.entries()) {
  const path = `/media/add-border?format=jpg&ak=${gateway.key}`;
  let number = 0;
  await compare(`${name}, by its url`, {
    again: { path: `${path}&url=${origin}/${size}/again` },
    other: () => {
      number += 1;
      return { path: `${path}&url=${origin}/${size}/${number}` };
    },
  });
  const again = upload(path, bytes, {});
  await compare(`${name}, uploaded`, { again, other: () => fresh(again) });
}

async function compare(name: string, { again, other }: { again: Call; other: () => Call }): Promise<void> {
  const known: Call = { ...again, headers: { 'if-none-match': await etagOf(again) } };
  const status = again.body === undefined ? 304 : 200;
  const contenders = [asked(gateway, other), asked(gateway, again), asked(gateway, known, status)] as const;
  const [first, repeated, unchanged] = await inTurns(contenders, { turnMs });
  const percent = (cpuMs: number) => (100 * cpuMs) / first.cpuMs;
  rows.push([
    name,
    first.cpuMs.toFixed(1),
    ...[repeated, unchanged].flatMap(({ cpuMs }) => [cpuMs.toFixed(2), `${percent(cpuMs).toFixed(1)} %`]),
  ]);
  if (again.body !== undefined) return;
  const what = `${name}, sent again, of its first cost`;
  judged.push(atMost(2, what, percent(repeated.cpuMs), '%'));
}

async function etagOf({ path, body, type }: Call): Promise<string> {
  const headers: Record<string, string> = type ? { 'content-type': type } : {};
  const init = body === undefined ? {} : { method: 'POST', body: body as Buffer<ArrayBuffer> };
  const answer = await fetch(`${gateway.url}${path}`, { ...init, headers });
  await answer.arrayBuffer();
  return answer.headers.get('etag') ?? '';
}

printTable(['', 'first', 'again', '', '304', ''], rows);
printGoals(judged);
await gateway.close();
server.close();
server.closeAllConnections();
