import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * The source that the attacks name: `/ping` answers at once, `/picture?ms=100` with a picture after that time, `/drip` with a
 * byte of one every 100 ms.
 */
const picture = Buffer.from(workerData as Uint8Array);
const head = { 'content-type': 'image/jpeg', 'content-length': picture.length };

const server = createServer((request, response) => {
  response.on('error', () => undefined);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://source');
  if (pathname === '/ping') return void response.end('pong');
  if (pathname === '/picture') {
    setTimeout(() => response.writeHead(200, head).end(picture), Number(searchParams.get('ms') ?? 0));
    return;
  }
  response.writeHead(200, head);
  let at = 0;
  const timer = setInterval(() => response.write(picture.subarray(at, ++at)), 100);
  response.once('close', () => clearInterval(timer));
});
server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port));
