import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { boundError, envelopeBytes, type MessageFault, readMessage } from './message.js';
import { createToolServer, type Toolbox } from './tool-server.js';

interface StdioOptions {
  version: string;
  tools: Toolbox;
  stdin: Readable;
  stdout: { write(text: string): unknown };
  /** Bytes of a tool's arguments at most; a message may have `envelopeBytes` beside them. */
  maxTextBytes: number;
  onError(error: Error): void;
}

/**
 * Serves tools to the client at the other ends of these streams, one message a line; resolves when it closes its own. The SDK's own
 * transport validates whole lines on the thread that serves all calls, ends the connection at a line that is too long, and does not
 * answer invalid messages.
 */
export function serveTools({ version, tools, stdin, stdout, maxTextBytes, onError }: StdioOptions) {
  const { counted, settled } = countCalls(tools);
  const maxLineBytes = maxTextBytes + envelopeBytes;
  let closed = false;

  function write(message: object): void {
    stdout.write(`${JSON.stringify(message)}\n`);
  }

  function refuse({ id, ...error }: MessageFault): void {
    write({ jsonrpc: '2.0', id, error });
  }

  async function accept(transport: Transport, line: Buffer | undefined): Promise<void> {
    if (line === undefined) {
      const message = `Invalid request: a message must take at most ${maxLineBytes} bytes.`;
      return refuse({ id: null, code: -32600, message });
    }
    if (line.length === 0 || line.equals(carriageReturn)) return;
    const read = await readMessage(line);
    if ('fault' in read) return refuse(read.fault);
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(read.message);
    } catch {
      const { id } = read.message;
      const known = typeof id === 'string' || typeof id === 'number' ? id : null;
      const problem = 'Invalid request: it is no message of JSON-RPC 2.0.';
      return refuse({ id: known, code: -32600, message: problem });
    }
    transport.onmessage?.(message);
  }

  async function readAll(transport: Transport): Promise<void> {
    try {
      for await (const line of linesOf(stdin, maxLineBytes)) await accept(transport, line);
      await settled();
    } catch (error) {
      if (!closed) transport.onerror?.(error as Error);
    }
    await transport.close();
  }

  return new Promise<void>((resolve) => {
    const transport: Transport = {
      start: async () => void readAll(transport),
      send: async (message) => write(boundError(message)),
      async close() {
        if (closed) return;
        closed = true;
        stdin.destroy();
        transport.onclose?.();
        resolve();
      },
    };
    serveStdio(() => createToolServer(version, counted), { transport, onerror: onError });
  });
}

const carriageReturn = Buffer.from('\r');

/** The lines of a stream, an unterminated last one too; undefined for a line of more than `most` bytes, which is not buffered. */
async function* linesOf(stream: Readable, most: number): AsyncGenerator<Buffer | undefined> {
  let chunks: Buffer[] = [];
  let length = 0;
  const add = (chunk: Buffer) => {
    length += chunk.length;
    if (length > most) chunks = [];
    else chunks.push(chunk);
  };
  const endLine = () => {
    const line = length > most ? undefined : Buffer.concat(chunks);
    chunks = [];
    length = 0;
    return line;
  };
  for await (const data of stream) {
    let rest = data as Buffer;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      add(rest.subarray(0, end));
      yield endLine();
      rest = rest.subarray(end + 1);
    }
    add(rest);
  }
  if (length > 0) yield endLine();
}

/**
 * The SDK's server aborts running calls when its input ends. A script that pipes its calls in and then closes still wants their
 * answers: `settled` waits until nothing is left to answer.
 */
function countCalls(tools: Toolbox): { counted: Toolbox; settled: () => Promise<void> } {
  const running = new Set<Promise<unknown>>();
  function call(...given: Parameters<Toolbox['call']>) {
    const result = tools.call(...given);
    if (result) {
      running.add(result);
      result.finally(() => running.delete(result)).catch(() => undefined);
    }
    return result;
  }
  async function settled(): Promise<void> {
    // A message that was just read becomes a call, and a result is written, within a few turns of the event loop.
    for (let quiet = 0; quiet < 10; quiet += 1) {
      if (running.size > 0) quiet = 0;
      await Promise.allSettled(running);
      await nextTurn();
    }
  }
  return { counted: { ...tools, call }, settled };
}
