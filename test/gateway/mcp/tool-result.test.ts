import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import sharp from 'sharp';
import { openLocalHelpers } from '../../../gateway/commands/open-local.js';
import { loadConfig } from '../../../gateway/config.js';
import type { LocalHelpers } from '../../../gateway/local-helpers.js';
import { createLocalTools } from '../../../gateway/mcp/local-tools.js';
import { fixture } from '../../fixtures.js';
import { operatorToken, startTestGateway, type TestGateway } from '../harness.js';
import { type Agent, agents, modernAgent, olderAgent } from './agents.js';

const example = fileURLToPath(new URL('../../../../plugins/media/example.jpg', import.meta.url));
const plugins = fixture('plugins/agents');

/** A picture that no encoder makes small. */
function noise(side: number): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
  const create = { width: side, height: side, channels: 3, background: '#000', noise } as const;
  return sharp({ create }).jpeg().toBuffer();
}

const widthOf = async (data: string | Buffer) =>
  (await sharp(typeof data === 'string' ? Buffer.from(data, 'base64') : data).metadata()).width;

describe('tools of agents', () => {
  const log: { err: Error }[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => void log.push(JSON.parse(line)) });
  let api: TestGateway;
  let helpers: LocalHelpers;
  let images: Server;
  let url: string;

  before(async () => {
    const pictures: Record<string, Buffer> = { '/small': await noise(40), '/large': await noise(900) };
    images = createServer((request, response) => void response.end(pictures[request.url ?? '']));
    await once(images.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
    const env = { HELPER_PLUGINS: plugins, HELPER_SOURCE_ORIGINS: url };
    api = await startTestGateway(env);
    helpers = await openLocalHelpers(loadConfig({ ...env, HELPER_POOL_THREADS: '1' }), logger);
  });
  after(async () => {
    await helpers.close();
    await api.close();
    images.close();
  });

  for (const [protocol, connect] of Object.entries(agents)) {
    describe(`by ${protocol}`, () => {
      let agent: Agent;
      before(async function () {
        agent = await connect(api.url, api.key, this);
      });
      after(() => agent?.close());

      const call = (name: string, input: Record<string, unknown> = {}) =>
        agent.callTool({ name, arguments: input });

      it('are the helpers, and say what they accept and that they change nothing', async () => {
        const { tools } = await agent.listTools();
        const names = tools.map(({ name }) => name);
        expect(names).to.include.members([
          'text_diff-two-strings',
          'media_add-border',
          'counted',
          'same_name',
        ]);
        expect(names.filter((name) => name.startsWith('same_name'))).to.have.length(2);
        const border = tools.find(({ name }) => name === 'media_add-border');
        expect(border.title).to.equal('Add border');
        expect(border.description).to.match(/^Adds a solid border.*public https address as `url`/s);
        expect(border.inputSchema.required).to.deep.equal(['url']);
        for (const hint of ['readOnlyHint', 'idempotentHint', 'openWorldHint'])
          expect(border.annotations).to.include({ [hint]: true });
      });

      it('answer data, structured and as its text, and a dry run by the same schema', async () => {
        // The client validates both by the tool's schema.
        const { structuredContent, content, isError } = await call('counted', { text: 'abba' });
        expect(isError ?? false).to.equal(false);
        expect(structuredContent).to.deep.equal({ letters: { a: 2, b: 2 } });
        expect(JSON.parse(content[0].text)).to.deep.equal(structuredContent);
        const dryRun = await call('counted', { dryrun: true });
        expect(dryRun.structuredContent).to.deep.equal({ operation: 'counted' });
      });

      it('say each field that is wrong, in the words of HTTP', async () => {
        const input = { text: 7, least: 0, extra: true };
        const { content, isError } = await call('counted', input);
        const { error } = (await api.call('/counted', { body: input })).json;
        const problems = error.details.map(
          ({ field, problem }: Record<string, string>) => `${field} ${problem}`,
        );
        expect([isError, problems.length]).to.deep.equal([true, 3]);
        expect(content[0].text).to.equal([`invalid_input: ${error.message}`, ...problems].join('\n'));
      });

      it('say of a fault nothing but its request, and are unknown by any other name', async () => {
        const { content, isError } = await call('broken');
        expect(isError).to.equal(true);
        expect(content[0].text).to.match(/^internal: (?!.*secret).*\nRequest [0-9a-f-]{36}\.$/);
        const { code, message } = await call('nothing').catch((thrown) => thrown);
        expect(code).to.equal(-32602);
        expect(message).to.include('Unknown tool: "nothing"');
      });

      it('answer small files with their bytes, and are refused by no client where they declare data', async () => {
        const { tools } = await agent.listTools();
        expect(tools.find(({ name }) => name === 'either')).to.have.property('outputSchema');
        expect((await call('either')).structuredContent).to.deep.equal({ a: 1 });
        for (const type of ['text/csv; charset=utf-8', 'application/pdf']) {
          const { content, isError, structuredContent } = await call('either', { type });
          expect(isError ?? false).to.equal(false);
          expect(structuredContent).to.deep.equal({ file: { type, bytes: 4 } });
          expect(content[0].type).to.equal(type.startsWith('text/') ? 'text' : 'resource');
        }
        const small = await call('file');
        expect(small.content[0].resource).to.include({ mimeType: 'application/pdf', blob: 'QUFBQQ==' });
      });

      it('link a large one to where its helper answers it, without the key', async () => {
        const { content } = await call('file', { bytes: 300_000, tags: ['a', 'b,c'] });
        const link = content.find(({ type }: { type: string }) => type === 'resource_link');
        expect(link).to.include({ name: 'file.pdf', mimeType: 'application/pdf', size: 300_000 });
        expect(JSON.stringify(content)).not.to.include(api.key);
        const whole = await fetch(link.uri, { headers: { authorization: `Bearer ${api.key}` } });
        expect((await whole.arrayBuffer()).byteLength).to.equal(300_000);
      });
    });
  }

  describe('for pictures', () => {
    let agent: Agent;
    before(async () => {
      agent = await olderAgent(api.url, api.key);
    });
    after(() => agent?.close());

    const border = (input: Record<string, unknown>) =>
      agent.callTool({ name: 'media_add-border', arguments: input });

    it('answer content for the model to look at', async () => {
      const { content, structuredContent } = await border({ url: `${url}/small`, width: 3 });
      expect([content.length, await widthOf(content[0].data)]).to.deep.equal([1, 46]);
      expect(content[0]).to.include({ type: 'image', mimeType: 'image/png' });
      expect(structuredContent).to.equal(undefined);
    });

    it('answer a preview where clients do not accept the whole, and link that, made once', async () => {
      const ask = async () => (await border({ url: `${url}/large`, width: 5 })).content;
      const [preview, words, link] = await ask();
      expect(preview.type).to.equal('image');
      expect(preview.data.length).to.be.below(400_000);
      expect(await widthOf(preview.data)).to.be.above(100);
      expect(words.text)
        .to.match(/^The result is a file of \d\.\d MB \(image\/png\)\. This is a preview of it\./)
        .and.include('parameter ak');
      expect(link).to.include({ type: 'resource_link', name: 'add-border.png', mimeType: 'image/png' });
      expect((await ask())[2]).to.deep.equal(link);
      const whole = await fetch(`${link.uri}&ak=${api.key}`);
      const bytes = await whole.arrayBuffer();
      // Whole to the last line: decoded, and not only looked at.
      const decoded = sharp(bytes, { failOn: 'warning' }).raw();
      const { info } = await decoded.toBuffer({ resolveWithObject: true });
      expect([bytes.byteLength, info.width]).to.deep.equal([link.size, 910]);
      expect(whole.headers.get('x-cache')).to.equal('hit');
    });

    it('say in the words of HTTP what is no picture, and answer a dry run as data', async () => {
      const { content, isError } = await border({ url: `${url}/nothing` });
      expect(isError).to.equal(true);
      expect(content[0].text).to.match(/^(?:bad_image|source_failed): /);
      const { structuredContent } = await border({ dryrun: true, color: 'red' });
      expect(structuredContent).to.include({ source_url: null, color: '#ff0000' });
    });
  });

  describe('in this process', () => {
    const { signal } = new AbortController();
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'tools-'));
    });
    afterEach(() => rm(folder, { recursive: true }));

    type Options = { out?: string; below?: string };
    function toolsOf({ out, below }: Options = {}) {
      const files = below === undefined ? undefined : { folder: below, maxBytes: 1_000_000 };
      return createLocalTools({ helpers, out, files, logger });
    }

    async function call(options: Options, name: string, input: object) {
      const answer = await toolsOf(options).call(name, JSON.stringify(input), signal);
      const { content = [], isError } = answer ?? {};
      return { content, types: content.map(({ type }) => type), isError, text: JSON.stringify(content) };
    }
    const border = (options: Options, url: string) => call(options, 'media_add-border', { url });

    it('write files whole under names of their own, and link them', async () => {
      const results = await Promise.all([1, 2].map(() => border({ out: folder }, `${url}/large`)));
      expect((await readdir(folder)).sort()).to.deep.equal(['add-border-2.png', 'add-border.png']);
      for (const { types, content } of results) {
        expect(types).to.deep.equal(['image', 'text', 'resource_link']);
        const { uri } = content[2] as { uri: string };
        expect(await widthOf(await readFile(fileURLToPath(uri)))).to.equal(940);
      }
    });

    it('say so where a file cannot be written, or none is, and give the rest of the answer', async () => {
      const none = join(folder, 'none');
      const { types, text } = await border({ out: none }, `${url}/large`);
      expect(types).to.deep.equal(['image', 'text']);
      expect(text).to.include(`It could not be written: there is no folder ${none}.`);
      const whole = await call({}, 'file', { bytes: 400_000 });
      expect(whole.types).to.deep.equal(['text']);
      expect(whole.text).to.include('--out DIR');
    });

    it('read regular files by their paths below the folder that they may, and wait for nothing else', async () => {
      const below = join(folder, 'pictures');
      await mkdir(below);
      await copyFile(example, join(below, 'a.jpg'));
      await symlink(example, join(below, 'link.jpg'));
      execFileSync('mkfifo', [join(below, 'pipe.jpg')]);
      await symlink(join(below, 'pipe.jpg'), join(below, 'linked-pipe.jpg'));
      await symlink(below, join(below, 'self.jpg'));
      const tools = await toolsOf({ below }).list();
      expect(tools.find(({ name }) => name === 'media_add-border')?.description).to.include(below);
      for (const path of ['a.jpg', join(below, 'a.jpg'), `file://${below}/a.jpg`])
        expect(await border({ below }, path), path).to.include({ isError: undefined });
      const outside = [example, '../a.jpg', 'link.jpg', 'b.jpg', '.', '', `file://${example}`, 'file://x/a'];
      for (const [at, path] of [
        ...[...outside, 'pipe.jpg', 'linked-pipe.jpg', 'self.jpg'].map((path) => [below, path]),
        ['/dev', 'zero'],
        ['/proc', 'self/fd/0'],
        ['/proc', 'self/task'],
      ] as [string, string][])
        expect((await border({ below: at }, path)).text, path).to.include(`url must be a file below ${at}`);
      expect((await border({ below }, 'ftp://example.com/a.jpg')).text).to.include('https');
      expect((await border({ below: '/proc/self' }, 'status')).text).to.include('bad_image');
    });

    it('keep the reason of a fault for the log, and are unknown by any other name', async () => {
      const { isError, text } = await call({}, 'broken', {});
      expect(isError).to.equal(true);
      expect(text).not.to.include('secret reason');
      expect(log.map(({ err }) => err.message)).to.include('secret reason');
      expect(toolsOf().call('nothing', '{}', signal)).to.equal(undefined);
    });
  });
});

describe('limits of tools', () => {
  let api: TestGateway;
  before(async () => {
    api = await startTestGateway({
      HELPER_PLUGINS: plugins,
      HELPER_RATE: '12',
      HELPER_MONTHLY_QUOTA: '2',
      HELPER_OPERATOR_TOKEN: operatorToken,
    });
  });
  after(() => api.close());

  it('are those of the key: it sees and calls what its scopes allow', async () => {
    const { key } = await api.manage('/api/tenants/demo/keys', { scopes: ['media/*', 'counted'] });
    const agent = await modernAgent(api.url, key);
    const names = (await agent.listTools()).tools.map(({ name }) => name);
    const media = ['add-border', 'add-watermark', 'convert', 'crop', 'info', 'resize', 'rotate'];
    expect(names).to.deep.equal(['counted', ...media.map((name) => `media_${name}`)]);
    const { content } = await agent.callTool({ name: 'file' });
    expect(content[0].text).to.equal('scope_denied: This API key may not call this helper.');
    await agent.close();
  });

  it('count a call as one of its helper, and a question against no quota', async () => {
    const agent = await modernAgent(api.url, api.key);
    const isRefused = async (bytes: number) =>
      (await agent.callTool({ name: 'file', arguments: { bytes } })).isError ?? false;
    await agent.listTools();
    expect([await isRefused(-1), await isRefused(1), await isRefused(1)]).to.deep.equal([true, false, false]);
    const { content } = await agent.callTool({ name: 'file', arguments: { bytes: 1 } });
    expect(content[0].text).to.match(/^quota_exceeded: .*\nTry again in \d+ s\.$/);
    expect((await agent.listTools()).tools).not.to.have.length(0);
    await agent.close();
  });

  for (const [what, message] of Object.entries({
    questions: { method: 'tools/list' },
    'calls that are none': { method: 'tools/call', params: { name: 'file', arguments: 7 } },
  }))
    it(`hold ${what} to the rate`, async () => {
      const body = { jsonrpc: '2.0', id: 1, ...message };
      const headers = { accept: 'application/json, text/event-stream' };
      const rush = async () => {
        const answers = Array.from({ length: 40 }, () => api.call('/mcp', { body, headers }));
        return (await Promise.all(answers)).filter(({ status }) => status === 429);
      };
      let refused = await rush();
      // A machine that is busy with other things may take more than two seconds for so many.
      for (let tries = 0; tries < 20 && refused.length === 0; tries += 1) refused = await rush();
      expect(refused[0]?.json.error.code).to.equal('rate_limited');
      expect(refused[0]?.headers.get('retry-after')).to.equal('1');
    });
});
