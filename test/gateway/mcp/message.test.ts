import { expect } from 'chai';
import fc from 'fast-check';
import { argumentsText, boundError, readMessage } from '../../../gateway/mcp/message.js';

function rpc(method: string, params: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

/** The message; undefined for one that is refused. */
const read = async (text: string) =>
  ((await readMessage(Buffer.from(text))) as { message?: Record<string, unknown> }).message;

const many = (count: number, value: unknown) => Array.from({ length: count }, () => value);
const named = Object.fromEntries(many(400, 0).map((_, at) => [`n${at}`, {}]));
const deep = JSON.parse('['.repeat(41) + ']'.repeat(41));
const long = 'x'.repeat(70_000);
const client = (icons: unknown) => rpc('initialize', { clientInfo: { name: 'x', version: '1', icons } });

const indents = fc.integer({ min: 0, max: 3 });

describe('a message to the tools', () => {
  it('is what was sent, whatever it holds', async () => {
    const property = fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), indents, async (params, indent) => {
      const sent = { jsonrpc: '2.0', id: 'a', method: 'tools/list', params };
      const text = `\ufeff${JSON.stringify(sent, null, indent)}\r`;
      expect(await read(text)).to.deep.equal(JSON.parse(JSON.stringify(sent)));
    });
    await fc.assert(property);
  });

  it('leaves the arguments of a tool as they were written, long ones too', async () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true });
    const check = async (text: string) => {
      const call = `{"params": {"arguments":${text} , "name": "x"}, "method": "tools\\/call", "id": 1}`;
      const { params } = (await read(call)) as { params: Record<string, unknown> };
      expect(params.name).to.equal('x');
      expect(argumentsText(params.arguments as Record<string, unknown>)).to.equal(text);
    };
    const written = (given: unknown, indent: number) => check(JSON.stringify(given, null, indent));
    await fc.assert(fc.asyncProperty(json, indents, written));
    await check(JSON.stringify({ list: many(200_000, []) }));
    expect(argumentsText(undefined)).to.equal('{}');
  });

  it('may hold some values beside them, and an id that can be repeated in an answer', async () => {
    expect(await read(client(many(250, '')))).to.be.an('object');
    expect(await read(rpc('ping', {}, 'ü'.repeat(128)))).to.be.an('object');
  });

  const tooMany = "must not hold more than 300 values beside a tool's arguments";
  const tooLong = "the body must take at most 65536 bytes beside a tool's arguments";
  for (const [what, text, problem, id = 1] of [
    ['a long name', rpc('tools/call', { name: long, arguments: {} }), tooLong],
    ['arguments that are a text', rpc('tools/call', { name: 'x', arguments: long }), tooLong],
    ['arguments of no tool', rpc('tools/list', { arguments: { text: long } }), tooLong],
    ['a long list', client(many(400, 1)), tooMany],
    ['a list of lists', client(many(150, [[]])), tooMany],
    ['an object', rpc('initialize', { capabilities: { experimental: named } }), tooMany],
    ['values beside arguments', rpc('tools/call', { arguments: {}, _meta: many(400, 1) }), tooMany],
    ['a list as arguments', rpc('tools/call', { name: 'x', arguments: many(400, 1) }), tooMany],
    ['many params', rpc('tools/list', named), tooMany],
    ['many members', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', ...named }), tooMany],
    ['an answer', JSON.stringify({ jsonrpc: '2.0', id: 1, result: many(400, {}) }), tooMany],
    ['deep nesting', rpc('tools/call', { arguments: deep }), '32'],
    ['a batch', ' [{}]', 'one message, not a batch', null],
    ['a text', '"x"', 'must be an object', null],
    ['a long id', rpc('ping', {}, 'x'.repeat(129)), 'id must have at most 128 characters', null],
    ['a member twice', '{"id":1,"method":"a","m\\u0065thod":"b"}', '"method" must be given once'],
    ['arguments twice', '{"id":1,"params":{"arguments":{},"arguments":1}}', '"arguments" must be given once'],
  ] as const) {
    it(`is refused for ${what}`, async () => {
      const { fault } = (await readMessage(Buffer.from(text))) as { fault: { message: string } };
      expect(fault).to.include({ code: -32600, id });
      expect(fault.message)
        .to.satisfy((said: string) => said.startsWith('Invalid request: '))
        .and.include(problem);
    });
  }

  it('is JSON in UTF-8', async () => {
    for (const text of ['', ' ', '{"id":', '{"a":1}}', '{"id":1,}', "{'a':1}", '{"a":"\xff"}']) {
      const found = await readMessage(Buffer.from(text, 'latin1'));
      expect(found, text).to.have.nested.property('fault.code', -32700);
    }
  });
});

describe('an error of the protocol', () => {
  it('takes at most 4 KB, and stays as it is where it is short, as every result does', () => {
    const id = '\u0000'.repeat(128);
    const error = { code: -32603, message: '\u0001'.repeat(100_000), data: { a: 'x'.repeat(9000) } };
    const bound = boundError({ jsonrpc: '2.0', id, error });
    expect(Buffer.byteLength(JSON.stringify(bound))).to.be.at.most(4096);
    expect([bound.id, bound.error.code]).to.deep.equal([id, -32603]);
    const short = { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x', data: [1] } };
    const result = { jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(9000) } };
    for (const each of [short, result]) expect(boundError(each)).to.equal(each);
  });
});
