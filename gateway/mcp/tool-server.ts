import {
  type CallToolResult,
  createMcpHandler,
  type ListToolsResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Transport,
} from '@modelcontextprotocol/server';
import { quote } from '../../schemas/quote.js';
import { argumentsText, boundError, type Message } from './message.js';

/** The tools that one caller may see. */
export interface Toolbox {
  list(): ListToolsResult['tools'] | Promise<ListToolsResult['tools']>;
  /** Calls one with JSON text as its input; undefined where there is none of this name. Never rejects for the call's own errors. */
  call(name: string, input: string, signal: AbortSignal): Promise<CallToolResult | undefined> | undefined;
}

const instructions =
  'Each tool is one helper: it answers and changes nothing. Its description says how it takes files. ' +
  'With `dryrun: true` a call is checked and nothing is done. An error names each field that was wrong and what is allowed.';

/** The SDK's own would make an ajv for every request; clients are asked for nothing that needs one. */
const jsonSchemaValidator = {
  getValidator(): never {
    throw new Error('nothing is asked of clients here');
  },
};

/** Its errors quote what a client sent no further than is of use. */
class BoundedServer extends Server {
  override connect(transport: Transport): Promise<void> {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => send(boundError(message), options);
    return super.connect(transport);
  }
}

/**
 * The protocol's server over these tools, for one request or one connection. The low-level one, which leaves schemas alone: they are
 * compiled once, with the helper.
 */
export function createToolServer(version: string, tools: Toolbox): Server {
  const server = new BoundedServer(
    { name: 'helper-gateway', title: 'helper-gateway', version },
    // Without a session, changes cannot be announced. A list is fresh whenever it is requested, and says so (`ttlMs` 0).
    { capabilities: { tools: { listChanged: false } }, instructions, jsonSchemaValidator },
  );
  server.setRequestHandler('tools/list', async () => ({ tools: await tools.list() }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const result = await tools.call(params.name, argumentsText(params.arguments), mcpReq.signal);
    if (result) return result;
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool: ${quote(params.name)}; tools/list names those that there are.`,
    );
  });
  return server;
}

/** Answers one message of either protocol, without a session. */
export async function serve(
  request: Request,
  message: Message,
  { version, tools }: { version: string; tools: Toolbox },
): Promise<Response> {
  return createMcpHandler(() => createToolServer(version, tools)).fetch(request, { parsedBody: message });
}
