/**
 * The servers that test/bench/source.ts downloads from: 20 KB on every path, over a connection that closes on `/close`. Takes
 * a certificate and its key as an IPC message and answers with the origins.
 */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';

const file = Buffer.alloc(20_000, 7);
const answer: RequestListener = (request, response) => {
  response.shouldKeepAlive = request.url !== '/close';
  response.writeHead(200, { 'content-length': file.length }).end(file);
};

process.on('message', async (certificate: { key: string; cert: string }) => {
  const servers = { http: createServer(answer), https: https.createServer(certificate, answer) };
  const origins = Object.entries(servers).map(async ([scheme, server]) => {
    server.keepAliveTimeout = 60_000;
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  process.send?.(await Promise.all(origins));
});
process.on('disconnect', () => process.exit());
