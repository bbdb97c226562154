import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { boundError, envelopeBytes, type Message, type MessageFault, readMessage } from './message.js';
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

/** Serves tools to the client at the other ends of these streams; resolves when it closes its own. */
export function serveTools({ version, tools, onError, ...streams }: StdioOptions): Promise<void> {
  const { counted, settled } = countCalls(tools);
  const transport = new LineTransport(streams, settled);
  serveStdio(() => createToolServer(version, counted), { transport, onerror: onError });
  return transport.ended;
}

/**
 * One message a line. The SDK's own transport validates whole lines on the thread that serves all calls, ends the connection at a line
 * that is too long, and does not answer invalid messages.
 */
class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly ended: Promise<void>;
  readonly #streams: Pick<StdioOptions, 'stdin' | 'stdout'>;
  readonly #maxLineBytes: number;
  readonly #settled: () => Promise<void>;
  #closed = false;
  #end: () => void = () => undefined;

  constructor(
    { maxTextBytes, ...streams }: Omit<StdioOptions, 'version' | 'tools' | 'onError'>,
    settled: () => Promise<void>,
  ) {
    this.#streams = streams;
    this.#maxLineBytes = maxTextBytes + envelopeBytes;
    this.#settled = settled;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async start(): Promise<void> {
    void this.#readAll();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#streams.stdout.write(`${JSON.stringify(boundError(message))}\n`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#streams.stdin.destroy();
    this.onclose?.();
    this.#end();
  }

  async #readAll(): Promise<void> {
    try {
      for await (const line of linesOf(this.#streams.stdin, this.#maxLineBytes)) await this.#accept(line);
      await this.#settled();
    } catch (error) {
      if (!this.#closed) this.onerror?.(error as Error);
    }
    await this.close();
  }

  async #accept(line: Buffer | undefined): Promise<void> {
    if (line === undefined) {
      const message = `Invalid request: a message must take at most ${this.#maxLineBytes} bytes.`;
      this.#refuse({ id: null, code: -32600, message });
      return;
    }
    if (line.length === 0 || line.equals(carriageReturn)) return;
    const read = await readMessage(line);
    if ('fault' in read) {
      this.#refuse(read.fault);
      return;
    }
    const message = asRpc(read.message);
    if (message) this.onmessage?.(message);
    else
      this.#refuse({
        id: idOf(read.message),
        code: -32600,
        message: 'Invalid request: it is no message of JSON-RPC 2.0.',
      });
  }

  #refuse({ id, ...error }: MessageFault): void {
    this.#streams.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
  }
}

const newline = 0x0a;
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
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      add(rest.subarray(0, end));
      yield endLine();
      rest = rest.subarray(end + 1);
    }
    add(rest);
  }
  if (length > 0) yield endLine();
}

function asRpc(message: Message): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(message);
  } catch {
    return undefined;
  }
}

function idOf({ id }: Message): MessageFault['id'] {
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

/**
 * The SDK's server aborts running calls when its input ends. A script that pipes its calls in and then closes still wants their
 * answers: `settled` waits until nothing is left to answer.
 */
function countCalls(tools: Toolbox): { counted: Toolbox; settled: () => Promise<void> } {
  const running = new Set<Promise<unknown>>();
  const counted: Toolbox = {
    ...tools,
    call(name, input, signal) {
      const result = tools.call(name, input, signal);
      if (result) {
        running.add(result);
        result.finally(() => running.delete(result)).catch(() => undefined);
      }
      return result;
    },
  };
  async function settled(): Promise<void> {
    // A message that was just read becomes a call, and a result is written, within a few turns of the event loop.
    for (let quiet = 0; quiet < 10; quiet += 1) {
      if (running.size > 0) quiet = 0;
      await Promise.allSettled(running);
      await nextTurn();
    }
  }
  return { counted, settled };
}
