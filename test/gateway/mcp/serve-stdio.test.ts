import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { serveTools } from '../../../gateway/mcp/serve-stdio.js';
import type { Toolbox } from '../../../gateway/mcp/tool-server.js';

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
  messages: (object | string)[],
): Promise<{ id: number | null; result?: object; error?: { code: number; message: string } }[]> {
  const stdin = new PassThrough();
  let said = '';
  const stdout = {
    write(text: string) {
      said += text;
    },
  };
  const ended = serveTools({
    version: '1',
    tools,
    stdin,
    stdout,
    maxTextBytes: 1_000_000,
    onError: () => undefined,
  });
  stdin.end(
    messages
      .map((message) => `${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
      .join(''),
  );
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

  it('bound each message, and answer one that is none', async () => {
    const tools: Toolbox = {
      list: () => [],
      call: async (_, input) => ({ content: [{ type: 'text', text: input }] }),
    };
    const call = (id: number, input: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"x","arguments":${input}}}`;
    const list = (count: number) => `[${Array.from({ length: count }, () => '[]').join()}]`;
    const icons = {
      ...initialize,
      id: 4,
      params: { ...initialize.params, clientInfo: { icons: JSON.parse(list(400)) } },
    };
    const answers = await talk(tools, [
      JSON.stringify(initialize),
      '',
      '{"id":',
      call(2, `{"a":1,"a":${list(200_000)}}`),
      call(3, '7'),
      JSON.stringify(icons),
      JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'ping', params: { text: 'x'.repeat(2_000_000) } }),
      '{"id":6}',
      '[]',
      call(7, '{}'),
    ]);
    const of = (id: number | null) => answers.filter((answer) => answer.id === id);
    expect(of(2)[0]?.result).to.deep.equal({
      content: [{ type: 'text', text: `{"a":1,"a":${list(200_000)}}` }],
    });
    expect(of(3)[0]?.error?.code).to.equal(-32602);
    expect(of(4)[0]?.error?.code).to.equal(-32600);
    expect(of(6)[0]?.error).to.deep.equal({
      code: -32600,
      message: 'Invalid request: it is no message of JSON-RPC 2.0.',
    });
    expect(of(7)[0]?.result).to.deep.equal({ content: [{ type: 'text', text: '{}' }] });
    expect(of(null).map(({ error }) => error?.code)).to.deep.equal([-32700, -32600, -32600]);
    expect(of(5)).to.deep.equal([]);
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
