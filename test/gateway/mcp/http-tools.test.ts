import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import sharp from 'sharp';
import { fixture } from '../../fixtures.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { type Agent, agents, modernAgent, olderAgent } from './agents.js';

/** A picture that no encoder makes small. */
function noise(side: number): Promise<Buffer> {
  const { gaussian } = { gaussian: { type: 'gaussian', mean: 128, sigma: 60 } } as const;
  const create = { width: side, height: side, channels: 3, background: '#000', noise: gaussian } as const;
  return sharp({ create }).jpeg().toBuffer();
}

describe('tools of agents', () => {
  let api: TestGateway;
  let images: Server;
  let url: string;

  before(async () => {
    const pictures: Record<string, Buffer> = { '/small': await noise(40), '/large': await noise(900) };
    images = createServer((request, response) => void response.end(pictures[request.url ?? '']));
    await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
    api = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/agents'), HELPER_SOURCE_ORIGINS: url });
  });

  after(async () => {
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

      it('are the helpers, each under a name of its own', async () => {
        const names = (await agent.listTools()).tools.map(({ name }) => name);
        const some = ['text_diff-two-strings', 'media_add-border', 'counted', 'same_name'];
        expect(names).to.include.members(some);
        expect(new Set(names).size).to.equal(names.length);
        expect(names.filter((name) => name.startsWith('same_name'))).to.have.length(2);
      });

      it('say what they take and that they change nothing', async () => {
        const { tools } = await agent.listTools();
        const border = tools.find(({ name }) => name === 'media_add-border');
        expect(border.title).to.equal('Add border');
        expect(border.description).to.match(/^Adds a solid border.*public https address as `url`/s);
        expect(border.inputSchema.required).to.deep.equal(['url']);
        expect(border.inputSchema.properties.format.enum).to.include.members(['png', 'jpg', 'jpeg']);
        expect(border.inputSchema.properties).to.have.property('dryrun');
        const hints = { readOnlyHint: true, idempotentHint: true, openWorldHint: true };
        expect(border.annotations).to.include(hints);
      });

      it('answer data, structured and as its text, and a dry run by the same schema', async () => {
        // The client validates both by the tool's schema.
        const call = (input: Record<string, unknown>) =>
          agent.callTool({ name: 'counted', arguments: input });
        const { structuredContent, content, isError } = await call({ text: 'abba' });
        expect(isError ?? false).to.equal(false);
        expect(structuredContent).to.deep.equal({ letters: { a: 2, b: 2 } });
        expect(JSON.parse(content[0].text)).to.deep.equal(structuredContent);
        expect((await call({ dryrun: true })).structuredContent).to.deep.equal({ operation: 'counted' });
      });

      it('say each field that is wrong, in the words of HTTP', async () => {
        const input = { text: 7, least: 0, extra: true };
        const { content, isError } = await agent.callTool({ name: 'counted', arguments: input });
        const { json } = await api.call('/counted', { body: input });
        expect(isError).to.equal(true);
        const problems = json.error.details.map(
          ({ field, problem }: { field: string; problem: string }) => `${field} ${problem}`,
        );
        expect(content[0].text.split('\n')).to.deep.equal([
          `invalid_input: ${json.error.message}`,
          ...problems,
        ]);
        expect(problems).to.have.length(3);
      });

      it('say of a fault nothing but its request', async () => {
        const { content, isError } = await agent.callTool({ name: 'broken' });
        expect(isError).to.equal(true);
        expect(content[0].text).to.match(/^internal: .*\nRequest [0-9a-f-]{36}\.$/);
        expect(content[0].text).not.to.include('secret');
      });

      it('are unknown by any other name', async () => {
        const error = await agent.callTool({ name: 'nothing' }).catch((thrown) => thrown);
        expect(error.code).to.equal(-32602);
        expect(error.message).to.include('Unknown tool: "nothing"');
      });

      it('that declare data and answer bytes are refused by no client', async () => {
        const { tools } = await agent.listTools();
        expect(tools.find(({ name }) => name === 'either')).to.have.property('outputSchema');
        const data = await agent.callTool({ name: 'either' });
        expect(data.structuredContent).to.deep.equal({ a: 1 });
        for (const type of ['text/csv; charset=utf-8', 'application/pdf']) {
          const { content, isError, structuredContent } = await agent.callTool({
            name: 'either',
            arguments: { type },
          });
          expect(isError ?? false).to.equal(false);
          expect(structuredContent).to.deep.equal({ file: { type, bytes: 4 } });
          expect(content[0]).to.have.property('type', type.startsWith('text/') ? 'text' : 'resource');
        }
      });

      it('answer text as text, and a small file with its bytes', async () => {
        const { content } = await agent.callTool({ name: 'file', arguments: { type: 'text/csv' } });
        expect(content).to.deep.equal([{ type: 'text', text: 'AAAA' }]);
        const small = await agent.callTool({ name: 'file' });
        expect(small.content[0].resource).to.include({ mimeType: 'application/pdf', blob: 'QUFBQQ==' });
      });

      it('link a large one to where its helper answers it, without the key', async () => {
        const input = { bytes: 300_000, tags: ['a', 'b,c'] };
        const { content } = await agent.callTool({ name: 'file', arguments: input });
        const link = content.find(({ type }: { type: string }) => type === 'resource_link');
        expect(link).to.include({ name: 'file.pdf', mimeType: 'application/pdf', size: 300_000 });
        expect(JSON.stringify(content)).not.to.include(api.key);
        const whole = await fetch(link.uri, { headers: { authorization: `Bearer ${api.key}` } });
        expect((await whole.arrayBuffer()).byteLength).to.equal(300_000);
      });
    });
  }

  describe('of pictures', () => {
    let agent: Agent;
    before(async () => {
      agent = await olderAgent(api.url, api.key);
    });
    after(() => agent?.close());

    const border = (input: Record<string, unknown>) =>
      agent.callTool({ name: 'media_add-border', arguments: input });

    it('are content for the model to look at', async () => {
      const { content, structuredContent } = await border({ url: `${url}/small`, width: 3 });
      expect(content).to.have.length(1);
      expect(content[0]).to.include({ type: 'image', mimeType: 'image/png' });
      expect((await sharp(Buffer.from(content[0].data, 'base64')).metadata()).width).to.equal(46);
      expect(structuredContent).to.equal(undefined);
    });

    it('are shown by a preview where clients do not take them, and linked whole', async () => {
      const { content } = await border({ url: `${url}/large`, width: 3 });
      const [preview, words, link] = content;
      expect(preview.type).to.equal('image');
      expect(preview.data.length).to.be.below(400_000);
      expect((await sharp(Buffer.from(preview.data, 'base64')).metadata()).width).to.be.above(100);
      expect(words.text).to.match(
        /^The result is a file of \d\.\d MB \(image\/png\)\. This is a preview of it\./,
      );
      expect(words.text).to.include('parameter ak');
      expect(link).to.include({ type: 'resource_link', name: 'add-border.png', mimeType: 'image/png' });
      const whole = await fetch(`${link.uri}&ak=${api.key}`);
      expect((await whole.arrayBuffer()).byteLength).to.equal(link.size);
    });

    it('are made once for the agent and for whoever opens the link, and stay whole', async () => {
      const ask = () => border({ url: `${url}/large`, width: 5 });
      const links = [(await ask()).content[2], (await ask()).content[2]];
      expect(links[0]).to.deep.equal(links[1]);
      const sizes: [string | null, number | undefined][] = [];
      for (const { uri } of links) {
        const whole = await fetch(`${uri}&ak=${api.key}`);
        // Whole to the last line: decoded, and not only looked at.
        const { info } = await sharp(await whole.arrayBuffer(), { failOn: 'warning' })
          .raw()
          .toBuffer({ resolveWithObject: true });
        sizes.push([whole.headers.get('x-cache'), info.width]);
      }
      expect(sizes).to.deep.equal([
        ['hit', 910],
        ['hit', 910],
      ]);
    });

    it('cannot be had of what is no picture, in the words of HTTP', async () => {
      const { content, isError } = await border({ url: `${url}/nothing` });
      expect(isError).to.equal(true);
      expect(content[0].text).to.match(/^(?:bad_image|source_failed): /);
    });

    it('come of a dry run as data', async () => {
      const { structuredContent } = await border({ dryrun: true, color: 'red' });
      expect(structuredContent).to.include({ source_url: null, color: '#ff0000' });
    });
  });
});

const token = 'token-of-this-test-of-32-characters';

describe('limits of tools', () => {
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway({
      HELPER_PLUGINS: fixture('plugins/agents'),
      HELPER_RATE: '12',
      HELPER_MONTHLY_QUOTA: '2',
      HELPER_OPERATOR_TOKEN: token,
    });
  });

  after(() => api.close());

  async function issue(scopes: string[]): Promise<string> {
    const response = await fetch(new URL('/api/tenants/demo/keys', api.gateway.connectUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ scopes }),
    });
    return ((await response.json()) as { data: { key: string } }).data.key;
  }

  it('are those of the key: it sees and calls what its scopes allow', async () => {
    const agent = await modernAgent(api.url, await issue(['media/*', 'counted']));
    const names = (await agent.listTools()).tools.map(({ name }) => name);
    const media = ['media_add-border', 'media_add-watermark', 'media_convert', 'media_resize'];
    expect(names).to.deep.equal(['counted', ...media]);
    const { content, isError } = await agent.callTool({ name: 'file' });
    expect(isError).to.equal(true);
    expect(content[0].text).to.equal('scope_denied: This API key may not call this helper.');
    await agent.close();
  });

  it('count a call as one of its helper, and a question against no quota', async () => {
    const agent = await modernAgent(api.url, api.key);
    const call = (bytes: number) => agent.callTool({ name: 'file', arguments: { bytes } });
    await agent.listTools();
    expect((await call(-1)).isError).to.equal(true);
    expect((await call(1)).isError ?? false).to.equal(false);
    expect((await call(1)).isError ?? false).to.equal(false);
    const { content, isError } = await call(1);
    expect(isError).to.equal(true);
    expect(content[0].text).to.match(/^quota_exceeded: .*\nTry again in \d+ s\.$/);
    expect((await agent.listTools()).tools).not.to.have.length(0);
    await agent.close();
  });

  for (const [what, message] of Object.entries({
    questions: { method: 'tools/list' },
    'calls that are none': { method: 'tools/call', params: { name: 'file', arguments: 7 } },
  }))
    it(`hold ${what} to the rate`, async () => {
      const ask = () =>
        api.call('/mcp', {
          body: { jsonrpc: '2.0', id: 1, ...message },
          headers: { accept: 'application/json, text/event-stream' },
        });
      const rush = async () =>
        (await Promise.all(Array.from({ length: 40 }, ask))).filter(({ status }) => status === 429);
      let refused = await rush();
      // A machine that is busy with other things may take more than two seconds for so many.
      for (let tries = 0; tries < 20 && refused.length === 0; tries += 1) refused = await rush();
      expect(refused).not.to.have.length(0);
      expect(refused[0]?.json.error.code).to.equal('rate_limited');
      expect(refused[0]?.headers.get('retry-after')).to.equal('1');
    });
});
