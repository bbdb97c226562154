import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Hands requests on with a key, for clients that cannot be told one; Host and Origin stay as they came. */
export async function startKeyProxy(target: string, key: string): Promise<{ url: string; server: Server }> {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    const onward = request(`${target}${incoming.url}`, { method: incoming.method ?? 'GET', headers });
    onward.on('response', (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, server };
}
