import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { lookup } from 'mime-types';
import { pino } from 'pino';
import { runLocally } from '../../gateway/commands/call/call-here.js';
import { createInput } from '../../gateway/commands/call/jobs.js';
import { openLocalHelpers } from '../../gateway/commands/open-local.js';
import { loadConfig } from '../../gateway/config.js';
import type { LocalHelpers } from '../../gateway/local-helpers.js';
import { createLocalTools } from '../../gateway/mcp/local-tools.js';
import type { FileField } from '../../schemas/declared-helper.js';
import { isObject } from '../../schemas/json-schema.js';
import { fixture } from '../fixtures.js';
import { type CallInit, startTestGateway, type TestGateway } from './harness.js';
import { modernAgent } from './mcp/agents.js';

/** A parameter's name and its value, in order: a name may stand twice. */
export type Given = readonly (readonly [string, unknown])[];

/** One call on any surface; `files` are paths by their fields. */
type Request = { helper: string; given: Given; files?: Readonly<Record<string, string>> };

/** How a call ended, in what every surface reports. */
export type Outcome =
  | { data: unknown }
  /** In base64. */
  | { file: string }
  /** Each problem as `field problem`; of what is no problem of a field, its message. */
  | { code: string; message: string; problems: string[] };

/** How a surface takes files: sent, named by a url, or by a path. */
type Takes = 'upload' | 'url' | 'path';

/** One of the ways to a helper. */
type Surface = { takes: Takes; call(request: Request): Promise<Outcome> };

/** The envelope of an error, as HTTP and the command line have it. */
type Failure = { code: string; message: string; details?: { field: string; problem: string }[] };

function failed({ code, message, details }: Failure): Outcome {
  const problems = details?.map(({ field, problem }) => `${field} ${problem}`) ?? [message];
  return { code, message, problems };
}

function fileOf(bytes: Uint8Array): Outcome {
  return { file: Buffer.from(bytes).toString('base64') };
}

/** A value as people write it where there is only text. */
function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** JSON of an object that may have a name twice. */
function asJson(given: Given): string {
  return `{${given.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}

function encoded(given: Given): string {
  return new URLSearchParams(given.map(([name, value]) => [name, asText(value)])).toString();
}

const boundary = 'boundary-of-parts';

/** Written by hand, as curl writes it: `FormData` makes \r\n of each \n. */
function multipart({ given, files = {} }: Request): Uint8Array<ArrayBuffer> {
  const part = (head: string, content: string | Buffer) => [
    `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`,
    content,
    '\r\n',
  ];
  const all = [
    ...given.flatMap(([name, value]) => part(`name="${name}"`, asText(value))),
    ...Object.entries(files).flatMap(([field, path]) => {
      const head = `name="${field}"; filename="${basename(path)}"\r\ncontent-type: ${lookup(path)}`;
      return part(head, readFileSync(path));
    }),
    `--${boundary}--\r\n`,
  ];
  return new Uint8Array(Buffer.concat(all.map((each) => Buffer.from(each))));
}

function httpSurfaces({ call }: TestGateway): Record<string, Surface> {
  const surface = (takes: Takes, init: (request: Request) => CallInit | undefined): Surface => ({
    takes,
    async call(request) {
      const sent = init(request);
      const query = sent ? '' : `?${encoded(request.given)}`;
      const { status, json, bytes } = await call(`/${request.helper}${query}`, sent);
      if (status !== 200) return failed(json.error);
      return json ? { data: json.data } : fileOf(bytes);
    },
  });
  const typed = (type: string, body: CallInit['body']) => ({ body, headers: { 'content-type': type } });
  return {
    GET: surface('url', () => undefined),
    JSON: surface('url', ({ given }) => typed('application/json', asJson(given))),
    form: surface('url', ({ given }) => typed('application/x-www-form-urlencoded', encoded(given))),
    multipart: surface('upload', (request) =>
      typed(`multipart/form-data; boundary=${boundary}`, multipart(request)),
    ),
  };
}

/** Calls a tool by its name. */
type CallTool = (name: string, input: Record<string, unknown>) => Promise<CallToolResult | undefined>;

/** Tools of agents. Files are not sent, but named in parameters. */
function mcpSurface(takes: 'url' | 'path', callTool: CallTool): Surface {
  return {
    takes,
    async call({ helper, given }) {
      const result = await callTool(helper.replaceAll('/', '_'), Object.fromEntries(given));
      return outcomeOf(result as CallToolResult);
    },
  };
}

function outcomeOf({ isError, structuredContent, content }: CallToolResult): Outcome {
  const [first] = content;
  if (isError && first?.type === 'text') {
    const [head = '', ...lines] = first.text.split('\n');
    // The request and when to come again stand elsewhere over HTTP.
    const problems = lines.filter((line) => !/^(?:Request|Try again) /.test(line));
    const [, code = '', message = ''] = /^(\w+): (.*)$/.exec(head) ?? [];
    return problems.length > 0 ? { code, message, problems } : failed({ code, message });
  }
  // What stands for a file is no data.
  if (isObject(structuredContent) && !('file' in structuredContent)) return { data: structuredContent };
  if (first?.type === 'text') return fileOf(Buffer.from(first.text));
  if (first?.type === 'image') return { file: first.data };
  if (first?.type === 'resource' && 'blob' in first.resource) return { file: first.resource.blob };
  throw new Error(`no result: ${JSON.stringify(content)}`);
}

/** The command line, writing what comes of a call into this folder. */
function commandSurface(local: LocalHelpers, folder: string): Surface {
  let calls = 0;
  return {
    takes: 'upload',
    async call({ helper, given, files = {} }) {
      calls += 1;
      const all = [...given, ...Object.entries(files)];
      const options = all.map(([name, value]) => `--${name}=${asText(value)}`);
      let stdout = '';
      await runLocally([helper, ...options, '--json', '--out', join(folder, String(calls))], {
        local,
        most: 1,
        input: createInput(Readable.from([]), 1_000_000),
        screen: { stdout: { write: (text) => (stdout += text) }, stderr: process.stderr },
        logger: pino({ level: 'silent' }),
        signal: new AbortController().signal,
      });
      const { ok, data, error } = JSON.parse(stdout);
      if (!ok) return failed(error);
      const bytes = readFileSync(data.out);
      return data.type === 'application/json' ? { data: JSON.parse(bytes.toString()) } : fileOf(bytes);
    },
  };
}

/** Every way to the helpers. */
export type Surfaces = Awaited<ReturnType<typeof openSurfaces>>;

/** Opens every way to the shipped helpers and to those that people write. */
export async function openSurfaces() {
  const folder = mkdtempSync(join(tmpdir(), 'surfaces-'));
  const contents: Record<string, Buffer> = {
    'picture.jpg': readFileSync(new URL('../../../plugins/media/example.jpg', import.meta.url)),
    'table.csv': Buffer.from('a,b\n1,2\n'),
    'page.html': Buffer.from('<title>A page</title>'),
    'service.json': Buffer.from('{"text":"tea"}'),
  };
  for (const [name, bytes] of Object.entries(contents)) writeFileSync(join(folder, name), bytes);
  const web = createServer(({ url = '' }, response) => {
    const name = new URL(url, 'http://web').pathname.slice(1);
    if (!(name in contents)) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': lookup(name) || '' }).end(contents[name]);
  }).listen(0, '127.0.0.1');
  await once(web, 'listening');
  const origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;

  const env = {
    HELPER_PLUGINS: fixture('plugins/author'),
    HELPER_SOURCE_ORIGINS: origin,
    HELPER_POOL_THREADS: '1',
    HELPER_MAX_TEXT_BYTES: '50000',
    TRANSLATE_API_KEY: 'top-secret',
    TRANSLATE_URL: `${origin}/service.json`,
  };
  const logger = pino({ level: 'silent' });
  const [gateway, local] = await Promise.all([
    startTestGateway(env),
    openLocalHelpers(loadConfig(env), logger, env),
  ]);
  const agent = await modernAgent(gateway.url, gateway.key);
  const files = { folder, maxBytes: 1_000_000 };
  const tools = createLocalTools({ helpers: local, out: undefined, files, logger });
  const { signal } = new AbortController();

  return {
    registry: local.registry,
    /** The web that helpers may fetch from. */
    origin,
    all: new Map<string, Surface>([
      ...Object.entries(httpSurfaces(gateway)),
      ['MCP', mcpSurface('url', (name, given) => agent.callTool({ name, arguments: given }))],
      [
        'local MCP',
        mcpSurface('path', async (name, given) => tools.call(name, JSON.stringify(given), signal)),
      ],
      ['call', commandSurface(local, folder)],
    ]),
    /** A file, as each way to give it wants it. */
    fileFor({ field, parameter, kind }: FileField, takes: Takes): Pick<Required<Request>, 'given' | 'files'> {
      const name = kind === 'image' ? 'picture.jpg' : 'table.csv';
      if (takes === 'upload') return { given: [], files: { [field]: join(folder, name) } };
      return { given: [[parameter, takes === 'path' ? name : `${origin}/${name}`]], files: {} };
    },
    async close() {
      await agent.close();
      await Promise.all([gateway.close(), local.close()]);
      web.close();
      rmSync(folder, { recursive: true });
    },
  };
}
