import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

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
  const client = new ModernClient(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new ModernTransport(new URL(`${url}/mcp`), { requestInit: requestInit(key) }));
  return client;
}

/** The official client of the protocol before it, as most agents have it. */
export async function olderAgent(url: string, key: string): Promise<Agent> {
  const client = new OlderClient(identity);
  const transport = new OlderTransport(new URL(`${url}/mcp`), { requestInit: requestInit(key) });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return client as Agent;
}

/** Of each protocol its client. */
export const agents = { '2026-07-28': modernAgent, '2025-11-25': olderAgent };
