import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Context } from 'mocha';
import { toolFile } from '../../needs.js';

/** What the tests need of either client. */
export interface Agent {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into every shape of result
  listTools(): Promise<{ tools: any[] }>;
  // biome-ignore lint/suspicious/noExplicitAny: likewise
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<any>;
  close(): Promise<void>;
}

const identity = { name: 'test', version: '1.0.0' };

function requestInit(key: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${key}` } };
}

/** The official client of the newest protocol, held to it. */
export async function modernAgent(url: string, key: string): Promise<Agent> {
  const client = new Client(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: requestInit(key) }),
  );
  return client;
}

/** The same client with the protocol before it. */
export async function olderAgent(url: string, key: string): Promise<Agent> {
  const client = new Client(identity, { versionNegotiation: { mode: 'legacy' } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: requestInit(key) }),
  );
  return client;
}

/** The first version of the official client, as most agents have it. CI alone installs it. */
async function firstAgent(url: string, key: string, context: Context): Promise<Agent> {
  const built = toolFile(context, '@modelcontextprotocol/sdk/dist/esm/client');
  const first = await import(`${built}/index.js`);
  const { StreamableHTTPClientTransport: Transport } = await import(`${built}/streamableHttp.js`);
  const client = new first.Client(identity);
  await client.connect(new Transport(new URL(`${url}/mcp`), { requestInit: requestInit(key) }));
  return client;
}

/** Of each protocol its client, and one of another make. */
export const agents = {
  '2026-07-28': modernAgent,
  '2025-11-25': olderAgent,
  '2025-11-25, version 1 of the SDK': firstAgent,
};

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
