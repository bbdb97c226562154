import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { bin } from '../gateway-process.js';
import { modernAgent } from '../mcp/agents.js';
import { launchChromium, requireChromium } from '../site/chromium.js';
import { type DevProcess, startDev } from './dev-process.js';

const run = promisify(execFile);

const shout = `import { defineHelper } from 'helper-gateway/helper';

type Tone = 'loud' | 'louder';
const marks: Record<Tone, string> = { loud: '!', louder: '!!!' };

export default defineHelper({
  summary: 'Writes a text in capitals.',
  input: {
    type: 'object',
    properties: {
      text: { type: 'string', maxLength: 1000, description: 'What to shout.' },
      tone: { enum: ['loud', 'louder'], default: 'loud' },
    },
    required: ['text'],
  },
  output: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  examples: [{ input: { text: 'hello' } }],
  handler: ({ text, tone }) => ({ text: text.toUpperCase() + marks[tone] }),
});
`;

describe('one file dropped into the folder of a running gateway', () => {
  const wanted = { text: 'HELLO!!!' };
  const input = { text: 'hello', tone: 'louder' };
  let dev: DevProcess;

  before(async () => {
    dev = await startDev();
    await dev.save('text/shout.ts', shout, /added text\/shout in \d+ ms/);
  });
  after(() => dev?.end());

  it('answers GET and POST', async () => {
    const query = new URLSearchParams({ ...input, ak: dev.key });
    const got = await fetch(`${dev.url}/text/shout?${query}`);
    const posted = await fetch(`${dev.url}/text/shout`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${dev.key}` },
      body: JSON.stringify(input),
    });
    for (const response of [got, posted]) {
      expect(((await response.json()) as { data: unknown }).data).to.deep.equal(wanted);
    }
  });

  it('stands in the OpenAPI document', async () => {
    const response = await fetch(`${dev.url}/openapi.json`);
    const { paths } = (await response.json()) as { paths: Record<string, object> };
    expect(paths['/text/shout']).to.have.keys('get', 'post');
  });

  it('is a tool of agents', async () => {
    const agent = await modernAgent(dev.url, dev.key);
    const { tools } = await agent.listTools();
    expect(tools.map(({ name }) => name)).to.include('text_shout');
    const { structuredContent } = await agent.callTool({ name: 'text_shout', arguments: input });
    expect(structuredContent).to.deep.equal(wanted);
    await agent.close();
  });

  it('is a command', async () => {
    const env = { PATH: process.env.PATH, HELPER_PLUGINS: join(dev.folder, 'helpers') };
    const words = ['call', 'text/shout', '--text', 'hello', '--tone', 'louder'];
    const { stdout } = await run(process.execPath, [bin, ...words], { env, cwd: dev.folder });
    expect(JSON.parse(stdout)).to.deep.equal(wanted);
  });

  describe('on its page', () => {
    let browser: Browser;

    before(async function () {
      requireChromium.call(this);
      browser = await launchChromium();
    });
    after(() => browser?.close());

    it('is to be tried', async () => {
      const page = await browser.newPage();
      await page.goto(`${dev.url}/`);
      await page.getByRole('link', { name: 'text/shout' }).click();
      await page.getByRole('heading', { name: 'text/shout' }).waitFor();
      await page.getByRole('textbox', { name: 'text', exact: true }).fill('hello');
      await page.getByRole('combobox', { name: 'tone', exact: true }).selectOption('louder');
      await page.getByLabel('API key').fill(dev.key);
      await page.getByRole('button', { name: 'Send' }).click();
      await page.locator('#answer').getByText('"HELLO!!!"').waitFor();
    });
  });
});
