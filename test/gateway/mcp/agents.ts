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

const endpoint = (url: string, key: string) =>
  [new URL(`${url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${key}` } } }] as const;

/** The official client, held to one protocol. */
const agentOf =
  (mode: 'legacy' | { pin: string }) =>
  async (url: string, key: string): Promise<Agent> => {
    const client = new Client(identity, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(...endpoint(url, key)));
    return client;
  };

/** With the newest protocol. */
export const modernAgent = agentOf({ pin: '2026-07-28' });

/** With the protocol before it. */
export const olderAgent = agentOf('legacy');

/** The first version of the official client, as most agents have it. CI alone installs it. */
async function firstAgent(url: string, key: string, context: Context): Promise<Agent> {
  const built = toolFile(context, '@modelcontextprotocol/sdk/dist/esm/client');
  const first = await import(`${built}/index.js`);
  const { StreamableHTTPClientTransport: Transport } = await import(`${built}/streamableHttp.js`);
  const client = new first.Client(identity);
  await client.connect(new Transport(...endpoint(url, key)));
  return client;
}

/** Of each protocol its client, and one of another make. */
export const agents = {
  '2026-07-28': modernAgent,
  '2025-11-25': olderAgent,
  '2025-11-25, version 1 of the SDK': firstAgent,
};
