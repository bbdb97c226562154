import { createMcpHandler } from '@modelcontextprotocol/server';
import type { Message } from '../message.js';
import { createToolServer, type Toolbox } from '../tool-server.js';

/** Answers one message of either protocol; nothing is kept of it. */
export async function serve(
  request: Request,
  message: Message,
  { version, tools }: { version: string; tools: Toolbox },
): Promise<Response> {
  const handler = createMcpHandler(() => createToolServer(version, tools));
  return handler.fetch(request, { parsedBody: message });
}
