import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { hostProblem } from '../../../gateway/mcp/endpoint.js';
import { fixture } from '../../fixtures.js';
import { startTestGateway, type TestGateway } from '../harness.js';

const accept = 'application/json, text/event-stream';

const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });

const client = { name: 'test', version: '1' };
const older = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: client };
const newer = (version: string) => ({
  _meta: {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': client,
    'io.modelcontextprotocol/clientCapabilities': {},
  },
});

describe('POST /mcp', () => {
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway({
      HELPER_PLUGINS: fixture('plugins/agents'),
      HELPER_API_URL: 'https://api.example.com',
      HELPER_CORS_ORIGINS: 'https://app.example.com',
    });
  });

  after(() => api.close());

  async function post(body: unknown, headers: Record<string, string> = {}, key: string | null = api.key) {
    const authorization: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    const answer = await api.call('/mcp', {
      key: null,
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { accept, 'content-type': 'application/json', ...authorization, ...headers },
    });
    const text = new TextDecoder().decode(answer.bytes);
    const data = /^data: (.*)$/m.exec(text)?.[1];
    return { ...answer, message: data ? JSON.parse(data) : answer.json };
  }

  /** Calls a tool with params as they are written. */
  const call = (params: string) => post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);

  /** With a Host, a method or no Accept of its own, which fetch does not let one set. */
  async function send(headers: Record<string, string>, method = 'POST') {
    const authorization = `Bearer ${api.key}`;
    const own = { 'content-type': 'application/json', authorization, ...headers };
    const sent = request(`${api.url}/mcp`, { method, headers: own });
    sent.end(method === 'POST' ? JSON.stringify(rpc('tools/list')) : undefined);
    const [head] = (await once(sent, 'response')) as [IncomingMessage];
    return { head, body: await text(head) };
  }

  it('requires a key, as everywhere, in the header or the query', async () => {
    const { status, headers, json } = await post(rpc('tools/list'), {}, null);
    expect([status, json.error.code]).to.deep.equal([401, 'key_missing']);
    expect(headers.get('www-authenticate')).to.match(/^Bearer/);
    expect((await post(rpc('tools/list'), {}, 'nonsense')).json.error.code).to.equal('key_invalid');
    const inQuery = await api.call('/mcp', { method: 'POST', body: rpc('tools/list'), headers: { accept } });
    expect(inQuery.status).to.equal(200);
  });

  it('is the only method', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'TRACE', 'PROPFIND', 'HEAD', 'OPTIONS']) {
      const { head } = await send({}, method);
      const status = method === 'OPTIONS' ? 204 : 405;
      expect([head.statusCode, head.headers.allow], method).to.deep.equal([status, 'POST']);
    }
  });

  it('answers whatever a client accepts, as a stream where it reads one', async () => {
    for (const [given, type] of [
      [accept, 'text/event-stream'],
      ['text/event-stream', 'text/event-stream'],
      ['application/json', 'application/json'],
      ['*/*', 'application/json'],
      [undefined, 'application/json'],
    ] as const) {
      const { head, body } = await send(given === undefined ? {} : { accept: given });
      expect(head.statusCode, given).to.equal(200);
      expect(head.headers['content-type']?.split(';')[0], given).to.equal(type);
      const message = JSON.parse(type === 'application/json' ? body : body.slice(body.indexOf('{')));
      expect(message.result.tools).to.be.an('array').that.is.not.empty;
    }
  });

  it('gives a client that reads no stream its answer whole, whatever a text holds', async () => {
    const text = 'a\u2028data: b\u2029';
    const called = rpc('tools/call', { name: 'counted', arguments: { text } });
    const { status, json } = await post(called, { accept: 'application/json' });
    expect([status, json.result.structuredContent.letters['\u2028']]).to.deep.equal([200, 1]);
  });

  it('refuses a name that is given twice, a tool’s in the words of HTTP', async () => {
    const given = '{"text": "one, two", "least": 1, "t\\u0065xt": "three", "least": 2}';
    const { message } = await call(`{"arguments": ${given} , "name": "counted"}`);
    const headers = { 'content-type': 'application/json' };
    const { error } = (await api.call('/counted', { method: 'POST', body: given, headers })).json;
    const lines = error.details.map(({ field, problem }: Record<string, string>) => `${field} ${problem}`);
    expect(lines).to.have.length(2);
    const words = [`invalid_input: ${error.message}`, ...lines].join('\n');
    expect(message.result.content[0].text).to.equal(words);
    const twice = await call('{"name": "file", "arguments": {}, "name": "counted"}');
    expect([twice.status, twice.message.error.code]).to.deep.equal([400, -32600]);
  });

  it('is refused for a foreign host or page, before the key is looked at', async () => {
    for (const [headers, status] of [
      [{ host: 'evil.example', authorization: '' }, 403],
      [{ origin: 'http://evil.example' }, 403],
      [{ host: 'api.example.com', origin: 'https://app.example.com' }, 200],
      [{ host: 'localhost:1', origin: 'http://localhost:1' }, 200],
    ] as const)
      expect((await send({ accept, ...headers })).head.statusCode).to.equal(status);
  });

  it('accepts one message of JSON', async () => {
    for (const [body, headers, ...expected] of [
      ['{"jsonrpc":', {}, 400, -32700],
      ['', {}, 400, -32700],
      [[rpc('tools/list')], {}, 400, -32600],
      ['a=1', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
      ['7', { 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
      ['x'.repeat(2_000_000), {}, 413, 'too_large'],
    ] as const) {
      const { status, message } = await post(body, headers);
      expect([status, message.error.code]).to.deep.equal(expected);
    }
  });

  it('bounds what the protocol’s server reads and what it says of it', async () => {
    const many = (count: number) => Array<number>(count).fill(1);
    const initialize = (icons: unknown[]) =>
      rpc('initialize', { ...older, clientInfo: { ...client, icons } });
    const long = await post(initialize(many(500_000)));
    expect([long.status, long.message.error.code, long.message.id]).to.deep.equal([400, -32600, 1]);
    for (const acceptable of [accept, 'application/json']) {
      const wrong = await post(initialize(many(250)), { accept: acceptable });
      expect(wrong.message.error.message).to.include('icons');
      expect(wrong.bytes.byteLength).to.be.within(500, 4200);
    }
    const version = 'x'.repeat(60_000);
    const unknown = await post(rpc('tools/list', newer(version)));
    expect(unknown.status).to.equal(400);
    expect(unknown.bytes.byteLength).to.be.within(50, 4096);
    const given = Object.fromEntries(many(300).map((_, at) => [`n${at}${'"'.repeat(50)}`, '"'.repeat(500)]));
    const { bytes, message } = await post(rpc('tools/call', { name: 'counted', arguments: given }));
    expect(message.result.content[0].text).to.match(/^invalid_input: .*\n… and \d+ more\.$/s);
    expect(bytes.byteLength).to.be.at.most(4096);
  });

  it('reads long arguments as any body', async () => {
    const text = 'ab '.repeat(100_000);
    const names = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`n${at}`, text.slice(0, 20)]));
    for (const [input, answer] of [
      [JSON.stringify({ text }), JSON.stringify({ text })],
      [JSON.stringify(names), 'must not hold more than 1000 names'],
      [`{"text":"${text}","language":"eng","text":""}`, 'text must be given once'],
      [JSON.stringify({ text: 'ab '.repeat(350_000) }), 'too_large: '],
    ] as const) {
      const { message } = await call(`{"name":"text_remove-stopwords","arguments":${input}}`);
      expect(message.result.content[0].text).to.include(answer);
    }
  });

  it('answers in the protocol that it is spoken to', async () => {
    const { message } = await post(rpc('initialize', older));
    const capabilities = { tools: { listChanged: false } };
    expect(message.result).to.deep.include({ protocolVersion: '2025-11-25', capabilities });
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' };
    const discovered = await post(rpc('server/discover', newer('2026-07-28')), headers);
    expect(discovered.message.result.supportedVersions).to.include('2026-07-28');
  });

  it('is logged as a call of the helper, with what came of it', async () => {
    await post(rpc('tools/call', { name: 'file', arguments: { bytes: -1 } }));
    const line = { path: '/mcp', service: 'file', status: 200, code: 'invalid_input', tenant: 'demo' };
    expect(api.log.findLast(({ msg }) => msg === 'call')).to.include(line);
    expect(JSON.stringify(api.log)).not.to.include(api.key);
  });
});

describe('the host and origin of agents', () => {
  const apiUrl = 'https://api.example.com:8443/x';
  const known = { host: '0.0.0.0', apiUrl, corsOrigins: ['https://app.example'] };
  const isRefused = (host: string, origin = '', by = known) =>
    hostProblem({ host, origin }, by) !== undefined;

  it('are known as an address, localhost, the public name, or the one that the gateway listens on', () => {
    const addresses = ['127.0.0.1:8080', '[::1]:8080', '192.168.1.7'];
    for (const host of ['localhost', 'LOCALHOST:8080', 'api.example.com', ...addresses])
      expect(isRefused(host), host).to.equal(false);
    const foreign = ['', 'evil.example', 'evil.example:8080', 'localhost.evil.example', '127.0.0.1.nip.io'];
    for (const host of [...foreign, 'a@localhost', 'localhost/x', 'local host'])
      expect(isRefused(host), host).to.equal(true);
    expect(isRefused('gateway.internal', '', { ...known, host: 'gateway.internal' })).to.equal(false);
    expect(hostProblem({ host: 'a.example', origin: '' }, known)).to.match(/"a\.example".*HELPER_API_URL/);
  });

  it('may be a page of its own, or one that may call the API', () => {
    const localhost = 'localhost:8080';
    for (const origin of [`http://${localhost}`, 'https://api.example.com:8443', 'https://app.example'])
      expect(isRefused(localhost, origin), origin).to.equal(false);
    for (const origin of ['http://localhost:3000', 'http://evil.example', 'null', 'https://app.example.evil'])
      expect(hostProblem({ host: localhost, origin }, known))
        .to.include(`"${origin}"`)
        .and.include('HELPER_CORS_ORIGINS');
    expect(isRefused('localhost', 'http://any.example', { ...known, corsOrigins: ['*'] })).to.equal(false);
  });
});
