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
const protocols = {
  [version]: {
    headers: { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': 'one' },
    params: { name: 'one', _meta: meta },
  },
  '2025-11-25': { headers: {}, params: { name: 'one' } },
};

function ask(protocol: keyof typeof protocols, call: Toolbox['call'], signal: AbortSignal) {
  const { headers, params } = protocols[protocol] as (typeof protocols)['2025-11-25'];
  const tools: Toolbox = { list: () => [], call };
  const request = new Request('http://gateway/mcp', {
    method: 'POST',
    headers: { accept, 'content-type': 'application/json', ...headers },
    signal,
  });
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  return { tools, response: serve(request, message, { version: '1', tools }) };
}

/** Makes a call of the tool `one`, and gives a reference to what only the call referred to. */
async function callOnce(protocol: keyof typeof protocols): Promise<WeakRef<Toolbox>> {
  const call: Toolbox['call'] = async () => ({ content: [{ type: 'text', text: 'done' }] });
  const { tools, response } = ask(protocol, call, new AbortController().signal);
  expect(await (await response).text()).to.include('done');
  return new WeakRef(tools);
}

describe('the protocol’s server', () => {
  for (const protocol of Object.keys(protocols) as (keyof typeof protocols)[]) {
    it(`keeps nothing of a request by ${protocol}`, async () => {
      const references: WeakRef<Toolbox>[] = [];
      for (let count = 0; count < 200; count += 1) references.push(await callOnce(protocol));
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
      const { response } = ask(
        protocol,
        (_, __, signal) => {
          given = signal;
          client.abort();
          return new Promise(() => undefined);
        },
        client.signal,
      );
      expect(await (await response).text()).to.equal('');
      expect(given?.aborted).to.equal(true);
    });
  }
});
