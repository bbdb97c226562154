import { type IncomingMessage, request } from 'node:http';
import { expect } from 'chai';
import { hostProblem } from '../../../gateway/mcp/endpoint.js';
import { fixture } from '../../fixtures.js';
import { startTestGateway, type TestGateway } from '../harness.js';

const accept = 'application/json, text/event-stream';

function rpc(method: string, params: Record<string, unknown> = {}): Record<string, unknown> {
  return { jsonrpc: '2.0', id: 1, method, params };
}

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

  /** With a Host, a method or no Accept of its own, which fetch does not let one set. */
  function send(
    headers: Record<string, string>,
    method = 'POST',
  ): Promise<{ head: IncomingMessage; body: string }> {
    const authorization = `Bearer ${api.key}`;
    const own = { 'content-type': 'application/json', authorization, ...headers };
    return new Promise((resolve, reject) => {
      const sent = request(`${api.url}/mcp`, { method, headers: own }, (head) => {
        let body = '';
        head.on('data', (chunk) => {
          body += chunk;
        });
        head.on('end', () => resolve({ head, body }));
      });
      sent.on('error', reject).end(method === 'POST' ? JSON.stringify(rpc('tools/list')) : undefined);
    });
  }

  const statusBy = async (headers: Record<string, string>) =>
    (await send({ accept, ...headers })).head.statusCode;

  it('wants a key, as everywhere, in the header or the query', async () => {
    const { status, headers, json } = await post(rpc('tools/list'), {}, null);
    expect([status, json.error.code]).to.deep.equal([401, 'key_missing']);
    expect(headers.get('www-authenticate')).to.match(/^Bearer/);
    expect((await post(rpc('tools/list'), {}, 'nonsense')).json.error.code).to.equal('key_invalid');
    const inQuery = await api.call('/mcp', { method: 'POST', body: rpc('tools/list'), headers: { accept } });
    expect(inQuery.status).to.equal(200);
  });

  it('is the only method', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'TRACE', 'PROPFIND', 'HEAD']) {
      const { head } = await send({}, method);
      expect([head.statusCode, head.headers.allow], method).to.deep.equal([405, 'POST']);
    }
    const { head } = await send({}, 'OPTIONS');
    expect([head.statusCode, head.headers.allow]).to.deep.equal([204, 'POST']);
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
      expect([head.statusCode, head.headers['content-type']?.split(';')[0]], given).to.deep.equal([
        200,
        type,
      ]);
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
    const call = (params: string) =>
      post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    const { message } = await call(`{"arguments": ${given} , "name": "counted"}`);
    const { json } = await api.call('/counted', {
      method: 'POST',
      body: given,
      headers: { 'content-type': 'application/json' },
    });
    const words = json.error.details.map(
      ({ field, problem }: Record<string, string>) => `${field} ${problem}`,
    );
    expect(words).to.have.length(2);
    expect(message.result.content[0].text).to.equal(
      [`invalid_input: ${json.error.message}`, ...words].join('\n'),
    );

    const twice = await call('{"name": "file", "arguments": {}, "name": "counted"}');
    expect([twice.status, twice.message.error.code]).to.deep.equal([400, -32600]);
    expect(twice.message.error.message).to.include('"name" must be given once');
    const methods = await post('{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}');
    expect([methods.status, methods.message.error.code]).to.deep.equal([400, -32600]);
  });

  it('is refused for a foreign host or page, before the key is looked at', async () => {
    expect(await statusBy({ host: 'evil.example' })).to.equal(403);
    expect(await statusBy({ host: 'evil.example', authorization: '' })).to.equal(403);
    expect(await statusBy({ origin: 'http://evil.example' })).to.equal(403);
    expect(await statusBy({ host: 'api.example.com', origin: 'https://app.example.com' })).to.equal(200);
    expect(await statusBy({ host: 'localhost:1', origin: 'http://localhost:1' })).to.equal(200);
  });

  it('takes one message of JSON', async () => {
    const bad = async (body: unknown, headers = {}) => {
      const { status, message } = await post(body, headers);
      return [status, message.error.code];
    };
    expect(await bad('{"jsonrpc":')).to.deep.equal([400, -32700]);
    expect(await bad('')).to.deep.equal([400, -32700]);
    expect(await bad([rpc('tools/list')])).to.deep.equal([400, -32600]);
    expect(await bad('7')).to.deep.equal([400, -32600]);
    expect(await bad('a=1', { 'content-type': 'text/plain' })).to.deep.equal([415, 'unsupported_media_type']);
    const { status, message } = await post('7', { 'content-encoding': 'gzip' });
    expect([status, message.error.message]).to.deep.equal([415, 'Send application/json, not compressed.']);
    expect(await bad('x'.repeat(2_000_000))).to.deep.equal([413, 'too_large']);
  });

  it('bounds what the protocol’s server reads and what it says of it', async () => {
    const many = (count: number) => Array.from({ length: count }, () => 1);
    const initialize = (icons: unknown[]) =>
      rpc('initialize', {
        protocolVersion: '2025-11-25',
        clientInfo: { name: 'x', version: '1', icons },
        capabilities: {},
      });
    const long = await post(initialize(many(500_000)));
    expect([long.status, long.message.error.code, long.message.id]).to.deep.equal([400, -32600, 1]);
    for (const acceptable of [accept, 'application/json']) {
      const wrong = await post(initialize(many(250)), { accept: acceptable });
      expect(wrong.message.error.message).to.include('icons');
      expect(wrong.bytes.byteLength).to.be.within(500, 4200);
    }
    const version = 'x'.repeat(60_000);
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const unknown = await post(rpc('tools/list', { _meta }));
    expect(unknown.status).to.equal(400);
    expect(unknown.bytes.byteLength).to.be.within(50, 4096);
    const given = Object.fromEntries(many(300).map((_, at) => [`n${at}${'"'.repeat(50)}`, '"'.repeat(500)]));
    const { bytes, message } = await post(rpc('tools/call', { name: 'counted', arguments: given }));
    expect(message.result.content[0].text).to.match(/^invalid_input: .*\n… and \d+ more\.$/s);
    expect(bytes.byteLength).to.be.at.most(4096);
  });

  it('reads long arguments as any body', async () => {
    const call = async (input: string) => {
      const params = `{"name":"text_remove-stopwords","arguments":${input}}`;
      const { message } = await post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
      return message.result.content[0].text as string;
    };
    const text = 'ab '.repeat(100_000);
    expect(JSON.parse(await call(JSON.stringify({ text }))).text).to.equal(text);
    const names = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`n${at}`, text.slice(0, 20)]));
    expect(await call(JSON.stringify(names))).to.include('must not hold more than 1000 names');
    expect(await call(`{"text":"${text}","language":"eng","text":""}`)).to.include('text must be given once');
    expect(await call(JSON.stringify({ text: 'ab '.repeat(350_000) }))).to.match(/^too_large: /);
  });

  it('answers in the protocol that it is spoken to', async () => {
    const initialize = rpc('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    const { message } = await post(initialize);
    expect(message.result.protocolVersion).to.equal('2025-11-25');
    expect(message.result.capabilities).to.deep.equal({ tools: { listChanged: false } });
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' };
    const discovered = await post(rpc('server/discover', { _meta }), modern);
    expect(discovered.message.result.supportedVersions).to.include('2026-07-28');
  });

  it('leads no client to a sign-in that is not there', async () => {
    const { status, json } = await api.call('/.well-known/oauth-protected-resource', { key: null });
    expect([status, json.error.code]).to.deep.equal([404, 'not_found']);
  });

  it('is logged as a call of the helper, with what came of it', async () => {
    await post(rpc('tools/call', { name: 'file', arguments: { bytes: -1 } }));
    const line = api.log.findLast(({ msg }) => msg === 'call');
    expect(line).to.include({
      path: '/mcp',
      service: 'file',
      status: 200,
      code: 'invalid_input',
      tenant: 'demo',
    });
    expect(JSON.stringify(api.log)).not.to.include(api.key);
  });
});

const known = {
  host: '0.0.0.0',
  apiUrl: 'https://api.example.com:8443/x',
  corsOrigins: ['https://app.example'],
};

describe('the host and origin of agents', () => {
  const isRefused = (host: string, origin = '', by = known) =>
    hostProblem({ host, origin }, by) !== undefined;

  it('are known as an address, localhost, or the public name', () => {
    const addresses = ['127.0.0.1:8080', '[::1]:8080', '192.168.1.7'];
    for (const host of ['localhost', 'LOCALHOST:8080', 'api.example.com', ...addresses])
      expect(isRefused(host), host).to.equal(false);
    const foreign = ['', 'evil.example', 'evil.example:8080', 'localhost.evil.example', '127.0.0.1.nip.io'];
    for (const host of [...foreign, 'a@localhost', 'localhost/x', 'local host'])
      expect(isRefused(host), host).to.equal(true);
  });

  it('may be the name that the gateway listens on', () => {
    expect(isRefused('gateway.internal', '', { ...known, host: 'gateway.internal' })).to.equal(false);
  });

  it('may be a page of its own, or one that may call the API', () => {
    for (const origin of ['http://localhost:8080', 'https://api.example.com:8443', 'https://app.example']) {
      expect(isRefused('localhost:8080', origin), origin).to.equal(false);
    }
    const foreign = ['http://localhost:3000', 'http://evil.example', 'null', 'https://app.example.evil'];
    for (const origin of foreign) {
      expect(isRefused('localhost:8080', origin), origin).to.equal(true);
    }
    expect(isRefused('localhost', 'http://any.example', { ...known, corsOrigins: ['*'] })).to.equal(false);
  });

  it('are named where they are refused, with the variable that would help', () => {
    expect(hostProblem({ host: 'evil.example', origin: '' }, known)).to.match(
      /"evil\.example".*HELPER_API_URL/,
    );
    expect(hostProblem({ host: 'localhost', origin: 'http://evil.example' }, known)).to.match(
      /"http:\/\/evil\.example".*HELPER_CORS_ORIGINS/,
    );
  });
});
