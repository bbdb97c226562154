import { PassThrough, type Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { createToolServer, type Toolbox } from '../tool-server.js';

export interface StdioOptions {
  version: string;
  tools: Toolbox;
  stdin: Readable;
  stdout: { write(text: string): unknown };
  onError(error: Error): void;
}

/** Serves tools to the one client that holds the other ends of these streams; resolves when it has closed its own. */
export function serveTools({ version, tools, stdin, stdout, onError }: StdioOptions): Promise<void> {
  const { counted, settled } = countCalls(tools);
  const input = new PassThrough();
  stdin.pipe(input, { end: false });
  stdin.once('end', () => void settled().then(() => input.end()));
  stdin.once('error', (error) => input.destroy(error));
  const output = new Writable({
    write(chunk, _, done) {
      stdout.write(String(chunk));
      done();
    },
  });
  return new Promise((resolve) => {
    input.once('close', resolve);
    serveStdio(() => createToolServer(version, counted), {
      transport: new StdioServerTransport(input, output),
      onerror: onError,
    });
  });
}

/**
 * The transport gives up what is under way when its input ends. A script that pipes its calls in and then closes wants their answers
 * all the same: `settled` waits until there is nothing left to answer.
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
    // What has just been read becomes a call, and what a call came to is written, within a few turns of the event loop.
    for (let quiet = 0; quiet < 10; quiet += 1) {
      if (running.size > 0) quiet = 0;
      await Promise.allSettled(running);
      await nextTurn();
    }
  }
  return { counted, settled };
}
