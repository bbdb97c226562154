import { expect } from 'chai';
import fc from 'fast-check';
import { argumentsText, boundError, type ReadMessage, readMessage } from '../../../gateway/mcp/message.js';

function rpc(method: string, params: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

async function read(text: string | Uint8Array): Promise<ReadMessage> {
  const found = await readMessage(Buffer.from(text as string));
  if ('fault' in found) throw new Error(found.fault.message);
  return found;
}

async function faultOf(text: string | Uint8Array) {
  const found = await readMessage(Buffer.from(text as string));
  if ('fault' in found) return found.fault;
  throw new Error('was taken');
}

const initialize = (params: object) =>
  rpc('initialize', {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'x', version: '1' },
    capabilities: {},
    ...params,
  });
const many = (count: number, value: unknown) => Array.from({ length: count }, () => value);

describe('a message to the tools', () => {
  it('is what was sent, whatever it holds', async () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    await fc.assert(
      fc.asyncProperty(json, fc.integer({ min: 0, max: 3 }), async (params, indent) => {
        const sent = { jsonrpc: '2.0', id: 'a', method: 'tools/list', params };
        const text = `\ufeff${JSON.stringify(sent, null, indent)}\r`;
        expect((await read(text)).message).to.deep.equal(JSON.parse(JSON.stringify(sent)));
      }),
    );
  });

  it('leaves the arguments of a tool as they were written', async () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(json, fc.integer({ min: 0, max: 3 }), async (given, indent) => {
        const text = JSON.stringify(given, null, indent);
        const call = `{"params": {"arguments":${text} , "name": "x"}, "method": "tools\\/call", "id": 1}`;
        const { params } = (await read(call)).message as { params: Record<string, unknown> };
        expect(params.name).to.equal('x');
        expect(argumentsText(params.arguments as Record<string, unknown>)).to.equal(text);
      }),
    );
    expect(argumentsText(undefined)).to.equal('{}');
  });

  it('may have long arguments and little beside them', async () => {
    const { message } = await read(rpc('tools/call', { name: 'x', arguments: { list: many(200_000, []) } }));
    expect(
      argumentsText((message.params as { arguments: Record<string, unknown> }).arguments),
    ).to.have.length(600_010);
    const faults = await Promise.all([
      faultOf(rpc('tools/call', { name: 'x'.repeat(70_000), arguments: {} })),
      faultOf(rpc('tools/call', { name: 'x', arguments: 'x'.repeat(70_000) })),
      faultOf(rpc('tools/list', { arguments: { text: 'x'.repeat(70_000) } })),
    ]);
    for (const { code, message: words, id } of faults) {
      expect([code, id]).to.deep.equal([-32600, 1]);
      expect(words).to.equal(
        "Invalid request: the body must take at most 65536 bytes beside a tool's arguments.",
      );
    }
  });

  it('holds few values beside them, wherever they are', async () => {
    const listed = { list: many(400, 1) };
    const named = Object.fromEntries(many(400, 0).map((_, at) => [`n${at}`, {}]));
    for (const text of [
      initialize({ clientInfo: { name: 'x', version: '1', icons: many(400, 1) } }),
      initialize({ clientInfo: { name: 'x', version: '1', icons: many(150, [[]]) } }),
      initialize({ capabilities: { experimental: named } }),
      rpc('tools/call', { name: 'x', arguments: {}, _meta: listed }),
      rpc('tools/call', { name: 'x', arguments: many(400, 1) }),
      rpc('tools/list', named),
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', ...named }),
      JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: many(400, {}) } }),
    ]) {
      const { code, message } = await faultOf(text);
      expect([code, message]).to.deep.equal([
        -32600,
        `Invalid request: the body must not hold more than 300 values beside a tool's arguments.`,
      ]);
    }
    await read(initialize({ capabilities: { experimental: { a: { list: many(250, '') } } } }));
  });

  it('is not nested deeper than any body', async () => {
    const nested = `${'['.repeat(40)}${']'.repeat(40)}`;
    const { code, message, id } = await faultOf(
      `{"id":7,"method":"tools/call","params":{"arguments":{"a":${nested}}}}`,
    );
    expect([code, id]).to.deep.equal([-32600, 7]);
    expect(message).to.include('32 levels');
  });

  it('is JSON, UTF-8 and one object, or says what it is', async () => {
    for (const text of [
      '',
      ' ',
      '{"id":',
      '{"a":1}}',
      '{"id":1,}',
      "{'a':1}",
      Buffer.from('{"a":"\xff"}', 'latin1'),
    ]) {
      expect((await faultOf(text)).code, String(text)).to.equal(-32700);
    }
    expect((await faultOf(' [{}]')).message).to.include('one message, not a batch');
    expect((await faultOf('"x"')).message).to.include('must be an object');
  });

  it('has an id that can be repeated in an answer', async () => {
    expect(await faultOf(rpc('ping', {}, 'x'.repeat(129)))).to.include({ id: null, code: -32600 });
    expect((await read(rpc('ping', {}, 'ü'.repeat(128)))).message.id).to.have.length(128);
  });

  it('has no name twice', async () => {
    expect((await faultOf('{"id":1,"method":"a","m\\u0065thod":"b"}')).message).to.equal(
      'Invalid request: "method" must be given once, but is given more than once.',
    );
    const twice = '{"id":2,"method":"tools/call","params":{"arguments":{},"name":"a","arguments":{}}}';
    expect(await faultOf(twice)).to.include({ id: 2, code: -32600 });
  });
});

describe('an error of the protocol', () => {
  it('takes at most 4 KB', () => {
    const id = '\u0000'.repeat(128);
    const error = { code: -32603, message: '\u0001'.repeat(100_000), data: { a: 'x'.repeat(9000) } };
    const bound = boundError({ jsonrpc: '2.0', id, error });
    expect(Buffer.byteLength(JSON.stringify(bound))).to.be.at.most(4096);
    expect(bound).to.include({ id });
    expect(bound.error.code).to.equal(-32603);
  });

  it('stays as it is where it is short, and so does every result', () => {
    const short = { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x', data: [1] } };
    expect(boundError(short)).to.equal(short);
    const result = { jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(9000) } };
    expect(boundError(result)).to.equal(result);
  });
});
