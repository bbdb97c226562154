import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { serve, type Toolbox } from '../../../gateway/mcp/tool-server.js';
import { heldMemory } from '../../needs.js';

const version = '2026-07-28';
const meta = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const accept = 'application/json, text/event-stream';
const modern = { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': 'one' };

describe('the protocol’s server', () => {
  for (const [protocol, own, more] of [
    [version, modern, { _meta: meta }],
    ['2025-11-25', {}, {}],
  ] as const) {
    /** Calls the tool `one`. */
    function ask(call: Toolbox['call'], { signal } = new AbortController()) {
      const tools: Toolbox = { list: () => [], call };
      const headers = { accept, 'content-type': 'application/json', ...own };
      const request = new Request('http://gateway/mcp', { method: 'POST', headers, signal });
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'one', ...more } };
      return { tools, response: serve(request, message, { version: '1', tools }) };
    }

    /** A reference to what only the call referred to. */
    async function callOnce(): Promise<WeakRef<Toolbox>> {
      const { tools, response } = ask(async () => ({ content: [{ type: 'text', text: 'done' }] }));
      expect(await (await response).text()).to.include('done');
      return new WeakRef(tools);
    }

    it(`keeps nothing of a request by ${protocol}`, async () => {
      const references: WeakRef<Toolbox>[] = [];
      for (let count = 0; count < 200; count += 1) references.push(await callOnce());
      const held = () => references.filter((reference) => reference.deref() !== undefined).length;
      // The last events may still refer to theirs; a collection happens between turns of the event loop.
      for (let tries = 0; held() > 2 && tries < 20; tries += 1) {
        await nextTurn();
        heldMemory();
      }
      expect(held()).to.be.below(3);
    });

    it(`gives a call up whose client has gone, by ${protocol}`, async () => {
      const client = new AbortController();
      let given: AbortSignal | undefined;
      const { response } = ask((_, __, signal) => {
        given = signal;
        client.abort();
        return new Promise(() => undefined);
      }, client);
      expect(await (await response).text()).to.equal('');
      expect(given?.aborted).to.equal(true);
    });
  }
});
