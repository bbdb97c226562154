import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openLocalHelpers } from '../../../gateway/commands/open-local.js';
import { loadConfig } from '../../../gateway/config.js';
import { createLocalTools } from '../../../gateway/mcp/local-tools.js';
import type { Registry } from '../../../gateway/plugins/registry.js';
import type { FileField } from '../../../schemas/declared-helper.js';
import { fixture } from '../../fixtures.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { modernAgent } from '../mcp/agents.js';
import type { Given, Surface, Takes } from './asked.js';
import { commandSurface } from './command-surface.js';
import { httpSurfaces } from './http-surfaces.js';
import { mcpSurface } from './mcp-surface.js';

export interface Surfaces {
  registry: Registry;
  gateway: TestGateway;
  all: ReadonlyMap<string, Surface>;
  /** A file, as each way to give it wants it. */
  fileFor(field: FileField, takes: Takes): { given: Given; files: Record<string, string> };
  /** The web that helpers may fetch from. */
  origin: string;
  close(): Promise<void>;
}

/** Opens every way to the shipped helpers and to those that people write. */
export async function openSurfaces(): Promise<Surfaces> {
  const folder = mkdtempSync(join(tmpdir(), 'surfaces-'));
  const contents = {
    'picture.jpg': readFileSync(new URL('../../../../plugins/media/example.jpg', import.meta.url)),
    'table.csv': Buffer.from('a,b\n1,2\n'),
    'page.html': Buffer.from('<title>A page</title>'),
    'service.json': Buffer.from('{"text":"tea"}'),
  };
  for (const [name, bytes] of Object.entries(contents)) writeFileSync(join(folder, name), bytes);
  const web = await serve(contents);
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
    gateway,
    origin,
    all: new Map([
      ...Object.entries(httpSurfaces(gateway)),
      ['MCP', mcpSurface('url', (name, given) => agent.callTool({ name, arguments: given }))],
      [
        'local MCP',
        mcpSurface('path', async (name, given) => tools.call(name, JSON.stringify(given), signal)),
      ],
      ['call', commandSurface(local, folder)],
    ]),
    fileFor({ field, parameter, kind }, takes) {
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

async function serve(contents: Record<string, Buffer>) {
  const types = { csv: 'text/csv', html: 'text/html', json: 'application/json', jpg: 'image/jpeg' };
  const web = createServer((request, response) => {
    const name = new URL(request.url ?? '/', 'http://web').pathname.slice(1);
    const type = types[name.split('.')[1] as keyof typeof types];
    if (type === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': type }).end(contents[name]);
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  return web;
}
