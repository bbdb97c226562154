import { expect } from 'chai';
import { fixture } from '../../fixtures.js';
import { startTestGateway, type TestGateway } from '../harness.js';
import { type Agent, agents } from './agents.js';

describe('tools of agents', () => {
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/agents') });
  });

  after(() => api.close());

  for (const [protocol, connect] of Object.entries(agents)) {
    describe(`by ${protocol}`, () => {
      let agent: Agent;

      before(async function () {
        agent = await connect(api.url, api.key, this);
      });

      after(() => agent?.close());

      it('are the helpers, each under a name of its own', async () => {
        const names = (await agent.listTools()).tools.map(({ name }) => name);
        expect(names).to.include.members([
          'text_diff-two-strings',
          'media_add-border',
          'counted',
          'same_name',
        ]);
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
        expect(border.annotations).to.include({
          readOnlyHint: true,
          idempotentHint: true,
          openWorldHint: true,
        });
      });

      it('answer data, structured and as its text', async () => {
        // The client itself holds it against the tool's schema.
        const { structuredContent, content, isError } = await agent.callTool({
          name: 'counted',
          arguments: { text: 'abba' },
        });
        expect(isError ?? false).to.equal(false);
        expect(structuredContent).to.deep.equal({ letters: { a: 2, b: 2 } });
        expect(JSON.parse(content[0].text)).to.deep.equal(structuredContent);
      });

      it('answer a dry run by the schema of what they answer, too', async () => {
        const { structuredContent } = await agent.callTool({ name: 'counted', arguments: { dryrun: true } });
        expect(structuredContent).to.deep.equal({ operation: 'counted' });
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
        const error = await agent.callTool({ name: 'nothing' }).then(
          () => undefined,
          (thrown) => thrown,
        );
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

      it('answer text as text', async () => {
        const { content } = await agent.callTool({ name: 'file', arguments: { type: 'text/csv' } });
        expect(content).to.deep.equal([{ type: 'text', text: 'AAAA' }]);
      });

      it('answer a small file with its bytes', async () => {
        const { content } = await agent.callTool({ name: 'file' });
        expect(content[0].resource).to.include({ mimeType: 'application/pdf', blob: 'QUFBQQ==' });
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
});
