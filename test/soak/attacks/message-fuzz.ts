import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { bin } from '../../gateway/harness.js';
import { createClient, inParallel } from '../client.js';
import { mutate, type Random } from '../mutate.js';
import type { Scenario, Tally } from '../scenario.js';

type Json = Record<string, unknown>;

type Seed = { message: Json; headers: Record<string, string> };

const modern = '2026-07-28';
const client = { name: 'fuzz', version: '1' };
const _meta = {
  'io.modelcontextprotocol/protocolVersion': modern,
  'io.modelcontextprotocol/clientInfo': { ...client, icons: [{ src: 'https://example.com/a' }] },
  'io.modelcontextprotocol/clientCapabilities': { experimental: { a: { b: [1] } } },
};
const initialize = {
  protocolVersion: '2025-11-25',
  clientInfo: { ...client, icons: [{ src: 'https://example.com/a', sizes: ['48x48'] }] },
  capabilities: { roots: { listChanged: true }, experimental: { a: { b: [{}] } } },
};
const text = {
  name: 'text_remove-stopwords',
  arguments: { text: 'the cat', keep: ['the'], language: 'eng' },
};
const border = { name: 'media_add-border', arguments: { width: 3, color: 'red', dryrun: true } };

/** The parameters of every method that a client of either protocol may send, those that are not served too. */
const methods: Record<string, Json | undefined> = {
  initialize,
  'notifications/initialized': undefined,
  'notifications/cancelled': { requestId: 7, reason: 'x' },
  'notifications/progress': { progressToken: 7, progress: 1, total: 2 },
  'notifications/roots/list_changed': undefined,
  ping: undefined,
  'server/discover': {},
  'tools/list': { cursor: 'a' },
  'tools/call': text,
  'subscriptions/listen': { notifications: { toolsListChanged: true } },
  'logging/setLevel': { level: 'debug' },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'a' }, argument: { name: 'a', value: 'b' } },
  'prompts/get': { name: 'a', arguments: { b: 'c' } },
  'resources/read': { uri: 'file:///etc/passwd' },
  'tasks/get': { taskId: 'a' },
};

function seedsOf(method: string, params: Json | undefined): Seed[] {
  const id = method.startsWith('notifications/') ? {} : { id: 7 };
  const name = typeof params?.name === 'string' ? { 'mcp-name': params.name } : undefined;
  const message = { jsonrpc: '2.0', ...id, method };
  const headers = { 'mcp-protocol-version': modern, 'mcp-method': method, ...name };
  return [
    { message: { ...message, ...(params && { params }) }, headers: {} },
    { message: { ...message, params: { ...params, _meta } }, headers },
  ];
}

const seeds: readonly Seed[] = [
  ...Object.entries(methods).flatMap(([method, params]) => seedsOf(method, params)),
  ...seedsOf('tools/list', {}),
  ...seedsOf('tools/call', border),
  { message: { jsonrpc: '2.0', id: 7, result: { content: [] } }, headers: {} },
  { message: { jsonrpc: '2.0', id: 7, error: { code: 1, message: 'x', data: {} } }, headers: {} },
];

const words = [
  ...'{}[]:,"\\',
  ...'null true 1e999 -0 "\\u0000" \\ud800 \u0000 \xff\xfe \xef\xbb\xbf [], {}, 1, "",'.split(' '),
  ...'{"a":[],"b":{}}, [[[[[[[[ ]]]]]]]] {"a":{"a":{"a": }}}'.split(' '),
  ...'"__proto__": "params":{ "arguments":{ "arguments":[], "written":"x", "_meta":{ "id":'.split(' '),
  ...'"icons":[ "experimental":{ "method":"tools/call", "name":" text_remove-stopwords'.split(' '),
  'ab '.repeat(9000),
];

/** Bytes of an error, its line end too. */
const mostErrorBytes = 4096 + 1;

/** Half are changed as bytes, so that most are no JSON, and half by one value that is put somewhere. */
function fuzzed(random: Random, { message }: Seed): Buffer {
  const whole = Buffer.from(JSON.stringify(message));
  if (random.below(2) === 0) return mutate(random, whole, words);
  const places = [...JSON.stringify(message).matchAll(/(?<=:)(?:"[^"]*"|\d+|\[|\{)/g)];
  const { index, 0: old } = random.pick(places);
  const value = JSON.stringify(oddValue(random));
  // In place of a plain value, or as the first member of what opens there.
  const put = old === '[' ? `[${value},` : old === '{' ? `{"x":${value},` : value;
  const json = whole.toString();
  return Buffer.from(json.slice(0, index) + put + json.slice(index + old.length));
}

function oddValue(random: Random): unknown {
  const count = random.pick([1, 10, 250, 299, 5000, 100_000]);
  const leaf = random.pick<unknown>([1, '', 'x'.repeat(random.pick([1, 200, 70_000])), null, {}, []]);
  switch (random.below(5)) {
    case 0:
      return Array.from({ length: Math.min(count, leaf === 1 ? count : 5000) }, () =>
        typeof leaf === 'string' ? '' : leaf,
      );
    case 1:
      return Object.fromEntries(Array.from({ length: Math.min(count, 5000) }, (_, at) => [`n${at}`, null]));
    case 2: {
      let nested = leaf;
      for (let level = random.pick([5, 25, 60]); level > 0; level -= 1)
        nested = level % 2 ? [nested] : { a: nested };
      return nested;
    }
    default:
      return leaf;
  }
}

const overHttp: Scenario = {
  name: 'fuzz: messages of agents',
  bounds: { serverErrors: [] },
  async attack(world, { scale, random, tally }) {
    const client = createClient(world.url, 6);
    const post = (body: Uint8Array | string, headers: Record<string, string>) =>
      client.call({ path: `/mcp?ak=${world.key}`, body, headers });
    const list = await post('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {});
    await inParallel({ at: 6, times: scale.calls, goesOn: world.alive }, async () => {
      const seed = random.pick(seeds);
      const headers = random.below(8) > 0 ? seed.headers : random.pick(seeds).headers;
      const accept = random.pick(['application/json, text/event-stream', 'application/json', '*/*']);
      const body = fuzzed(random, seed);
      const { status, bytes } = await post(body, { accept, ...headers });
      tally.count(status);
      const most = status >= 400 ? mostErrorBytes : list.bytes + mostErrorBytes + body.length;
      if (bytes > most) tally.fault(`${status} with ${bytes} bytes for ${body.subarray(0, 300)}`);
    });
    client.close();
    if (tally.statuses.get(0)) tally.fault(`${tally.statuses.get(0)} messages were not answered`);
  },
};

/** Messages that are sent before the server has to answer a good one. */
const batch = 25;
/** Memory of a server that has a thread, in megabytes. */
const heapMb = 300;

/** One that speaks each protocol: a connection keeps to that in which it began. */
const overStdio: Scenario = {
  name: 'fuzz: messages of agents on standard input',
  async attack(_, { scale, random, tally }) {
    for (const params of [undefined, { _meta }])
      await fuzzStdio(params, { calls: scale.calls / 2, random, tally });
  },
};

async function fuzzStdio(
  params: Json | undefined,
  { calls, random, tally }: { calls: number; random: Random; tally: Tally },
): Promise<void> {
  const server = spawn(process.execPath, [`--max-old-space-size=${heapMb}`, bin, 'mcp'], {
    env: { PATH: process.env.PATH, HELPER_POOL_THREADS: '1', LOG_LEVEL: 'silent' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(server, 'exit') as Promise<[number | null, string | null]>;
  server.stdin.on('error', () => undefined);
  const waiting = new Map<string, () => void>();
  createInterface({ input: server.stdout }).on('line', (line) => {
    const { id, error, result } = readLine(line, tally);
    tally.count(error ? 400 : 200);
    if (error && Buffer.byteLength(line) > mostErrorBytes) tally.fault(`an error of ${line.length} bytes`);
    if (result) waiting.get(String(id))?.();
  });
  const ask = async (id: string) => {
    const began = performance.now();
    const answered = new Promise<void>((resolve) => void waiting.set(id, resolve));
    const list = { jsonrpc: '2.0', id, method: 'tools/list', ...(params && { params }) };
    server.stdin.write(`${JSON.stringify(list)}\n`);
    await Promise.race([answered, ended]);
    tally.good(server.exitCode === null ? 200 : 0, performance.now() - began);
  };
  try {
    await ask('first');
    for (let sent = 0; sent < calls && server.exitCode === null; sent += 1) {
      const line = fuzzed(random, random.pick(seeds)).toString('latin1').replaceAll('\n', ' ');
      server.stdin.write(Buffer.from(`${line}\n`, 'latin1'));
      if (sent % batch === 0) await ask(`good ${sent}`);
    }
    await ask('last');
    server.stdin.end();
    const [code, signal] = await ended;
    if (code !== 0) tally.fault(`the server on standard input ended with ${code ?? signal}`);
  } finally {
    server.kill('SIGKILL');
  }
}

function readLine(line: string, tally: Tally): { id?: unknown; error?: object; result?: unknown } {
  try {
    return JSON.parse(line);
  } catch {
    tally.fault(`a line that is no message: ${line.slice(0, 200)}`);
    return {};
  }
}

/** Every method's message, with changes: each is answered, none by a server error, and an error is short. */
export const messageFuzz: readonly Scenario[] = [overHttp, overStdio];
