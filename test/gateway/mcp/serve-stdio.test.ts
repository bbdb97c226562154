import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { serveTools } from '../../../gateway/mcp/serve-stdio.js';
import type { Toolbox } from '../../../gateway/mcp/tool-server.js';

const clientInfo = { name: 'test', version: '1' };
const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params };

const callOf = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });

/** Sends these messages and closes; gives what came until the server ended, too. */
async function talk(
  call: Toolbox['call'],
  messages: (object | string)[],
): Promise<{ id: number | null; result?: object; error?: { code: number; message: string } }[]> {
  const stdin = new PassThrough();
  let written = '';
  const ended = serveTools({
    version: '1',
    tools: { list: () => [], call },
    stdin,
    stdout: { write: (text) => (written += text) },
    maxTextBytes: 1_000_000,
    onError: () => undefined,
  });
  const lines = messages.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)));
  stdin.end(`${lines.join('\n')}\n`);
  await ended;
  const answers = written.trim().split('\n');
  return answers.map((line) => JSON.parse(line));
}

describe('tools on standard input and output', () => {
  it('answer what was piped in to the end, and end with it', async () => {
    const news = new EventEmitter();
    const call: Toolbox['call'] = async (name) => {
      if (name === 'slow') await once(news, 'fast');
      else news.emit('fast');
      return { content: [{ type: 'text', text: name }] };
    };
    const answers = await talk(call, [initialize, callOf(2, 'slow'), callOf(3, 'fast')]);
    expect(answers.map(({ id }) => id)).to.have.members([1, 2, 3]);
  });

  it('bound each message, and answer one that is none', async () => {
    const contentOf = (text: string) => ({ content: [{ type: 'text' as const, text }] });
    const call = (id: number, input: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"x","arguments":${input}}}`;
    const list = (count: number) => `[${Array.from({ length: count }, () => '[]').join()}]`;
    const icons = { ...params, clientInfo: { icons: JSON.parse(list(400)) } };
    const twice = `{"a":1,"a":${list(200_000)}}`;
    const tooLong = { jsonrpc: '2.0', id: 5, method: 'ping', params: { text: 'x'.repeat(2_000_000) } };
    const answers = await talk(
      async (_, input) => contentOf(input),
      [
        ...[initialize, '', '{"id":', call(2, twice), call(3, '7'), { ...initialize, id: 4, params: icons }],
        ...[tooLong, '{"id":6}', '[]', call(7, '{}')],
      ],
    );
    const of = (id: number | null) => answers.filter((answer) => answer.id === id);
    expect(of(2)[0]?.result).to.deep.equal(contentOf(twice));
    expect([3, 4].map((id) => of(id)[0]?.error?.code)).to.deep.equal([-32602, -32600]);
    const message = 'Invalid request: it is no message of JSON-RPC 2.0.';
    expect(of(6)[0]?.error).to.deep.equal({ code: -32600, message });
    expect(of(7)[0]?.result).to.deep.equal(contentOf('{}'));
    expect(of(null).map(({ error }) => error?.code)).to.deep.equal([-32700, -32600, -32600]);
    expect(of(5)).to.deep.equal([]);
  });

  it('are given up where the client cancels', async () => {
    let given: AbortSignal | undefined;
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } };
    const call: Toolbox['call'] = async (_, __, signal) => {
      given = signal;
      await once(signal, 'abort');
      return { content: [] };
    };
    const answers = await talk(call, [initialize, callOf(2, 'slow'), cancel]);
    expect(given?.aborted).to.equal(true);
    expect(answers.map(({ id }) => id)).to.deep.equal([1]);
  });
});
