import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { serveTools } from '../../../../gateway/mcp/stdio/serve-stdio.js';
import type { Toolbox } from '../../../../gateway/mcp/tool-server.js';

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
};

function callOf(id: number, name: string): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name } };
}

/** Sends these messages and closes; gives what came until the server ended, too. */
async function talk(
  tools: Toolbox,
  messages: object[],
): Promise<{ id: number; result?: object; error?: object }[]> {
  const stdin = new PassThrough();
  let said = '';
  const stdout = {
    write(text: string) {
      said += text;
    },
  };
  const ended = serveTools({ version: '1', tools, stdin, stdout, onError: () => undefined });
  stdin.end(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  await ended;
  return said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('tools on standard input and output', () => {
  it('answer what was piped in to the end, and end with it', async () => {
    let go: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => {
      go = resolve;
    });
    const tools: Toolbox = {
      list: () => [],
      call: async (name) => {
        if (name === 'slow') await slow;
        else go();
        return { content: [{ type: 'text', text: name }] };
      },
    };
    const answers = await talk(tools, [initialize, callOf(2, 'slow'), callOf(3, 'fast')]);
    expect(answers.map(({ id }) => id)).to.have.members([1, 2, 3]);
  });

  it('are given up where the client cancels', async () => {
    let given: AbortSignal | undefined;
    const tools: Toolbox = {
      list: () => [],
      call: (_, __, signal) => {
        given = signal;
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ content: [] }));
        });
      },
    };
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } };
    const answers = await talk(tools, [initialize, callOf(2, 'slow'), cancel]);
    expect(given?.aborted).to.equal(true);
    expect(answers.map(({ id }) => id)).to.deep.equal([1]);
  });
});
