import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { answering } from '../answering.js';
import { bin, runCommand, startChild } from '../harness.js';
import { modernAgent } from '../mcp/agents.js';
import { launchChromium, requireChromium } from '../site/chromium.js';
import { type DevProcess, startDev } from './dev-process.js';

function saying(word: string, handler = `({ text }) => ({ said: '${word} ' + text })`): string {
  return `export default {
  summary: 'Says.',
  input: { type: 'object', required: ['text'], properties: { text: { type: 'string', maxLength: 99 } } },
  handler: ${handler},
};
`;
}

describe('helper-gateway dev in an empty folder', () => {
  let dev: DevProcess;
  let folder: string;

  before(async () => {
    dev = await startDev();
    folder = dev.folder;
  });
  after(() => dev?.end());

  const save: DevProcess['save'] = (...given) => dev.save(...given);

  async function call(path = 'text/say'): Promise<{ status: number; said?: string; message?: string }> {
    const response = await fetch(`${dev.url}/${path}?text=hi&ak=${dev.key}`);
    const { data, error } = (await response.json()) as {
      data?: { said: string };
      error?: { message: string };
    };
    const { status } = response;
    return { status, ...(data ? { said: data.said } : {}), ...(error ? { message: error.message } : {}) };
  }

  it('makes the folder, and serves what the package brings', async () => {
    expect(dev.stdout()).to.include(`created ${join(folder, 'helpers')}`);
    expect(await call()).to.include({ status: 404 });
  });

  it('serves a file that is dropped in', async () => {
    await save('text/say.mjs', saying('one'), /added text\/say in \d+ ms/);
    expect(await call()).to.deep.equal({ status: 200, said: 'one hi' });
  });

  it('serves what is saved over it', async () => {
    await save('text/say.mjs', saying('two'), /reloaded text\/say in \d+ ms/);
    expect(await call()).to.deep.equal({ status: 200, said: 'two hi' });
  });

  it('goes on with the last good version of a broken one, and names file and line on stderr', async () => {
    await save('text/say.mjs', 'export default {\n  summary: "x"\n  input: {}\n}', /SyntaxError/);
    expect(dev.stderr())
      .to.include(join(folder, 'helpers', 'text', 'say.mjs'))
      .and.include('line 3');
    expect(await call()).to.deep.equal({ status: 200, said: 'two hi' });
  });

  it('serves the one that is mended, and tells its fault in full to a caller on this host', async () => {
    await save('text/say.mjs', saying('', '({ text }) => text.no.such'), /reloaded text\/say/);
    const { status, message } = await call();
    expect(status).to.equal(500);
    expect(message).to.include("TypeError: Cannot read properties of undefined (reading 'such')");
    expect(message).to.include(`${join(folder, 'helpers', 'text', 'say.mjs')}:4:`);
    const agent = await modernAgent(dev.url, dev.key);
    const { content } = await agent.callTool({ name: 'text_say', arguments: { text: 'hi' } });
    expect(content[0].text).to.include(`internal: ${message}\n`);
    await agent.close();
  });

  it('reloads what imports a shared file that is saved', async () => {
    await save('_words.json', '{"word": "three"}', /reloaded text\/say/);
    const source = `import { readFileSync } from 'node:fs';
const { word } = JSON.parse(readFileSync(new URL('../_words.json', import.meta.url), 'utf8'));
${saying('', "({ text }) => ({ said: word + ' ' + text })")}`;
    await save('text/say.mjs', source, /reloaded text\/say/);
    expect((await call()).said).to.equal('three hi');
    await save('_words.json', '{"word": "four"}', /reloaded text\/say/);
    expect((await call()).said).to.equal('four hi');
  });

  it('takes TypeScript as it is', async () => {
    const typed = saying('five', "({ text }: { text: string }) => ({ said: 'five ' + text })");
    await save('text/typed.ts', typed, /added text\/typed/);
    expect((await call('text/typed')).said).to.equal('five hi');
  });

  it('reloads everything at SIGHUP', async () => {
    const out = dev.stdout().length;
    dev.child.kill('SIGHUP');
    await dev.until(() => dev.stdout().slice(out).includes('reloaded text/say'));
  });

  it('serves no more what is deleted', async () => {
    const out = dev.stdout().length;
    await rm(join(folder, 'helpers', 'text', 'say.mjs'));
    await dev.until(() => dev.stdout().slice(out).includes('removed text/say'));
    expect(await call()).to.include({ status: 404 });
  });

  it('ends in order at a Ctrl-C, also with a reload under way', async () => {
    await writeFile(join(folder, 'helpers', 'late.mjs'), 'for (;;);');
    dev.child.kill('SIGINT');
    expect(await dev.ended).to.equal(0);
  });
});

describe('helper-gateway dev with a helper that cannot be set up', () => {
  it('says why, and starts when it is mended', async () => {
    const cwd = await mkdtemp(join(tmpdir(), 'dev-'));
    const file = join(cwd, 'helpers', 'say.mjs');
    await mkdir(join(cwd, 'helpers'));
    await writeFile(file, answering(1, 'setup() { throw new Error("no server"); }'));
    const env = { PATH: process.env.PATH, PORT: '0', CONNECT_PORT: '0', LOG_LEVEL: 'error' };
    const dev = startChild(process.execPath, [bin, 'dev'], { cwd, env });
    try {
      await dev.until(() => dev.stderr().includes('starts again when a file is saved'));
      expect(dev.stderr()).to.include(file).and.include('setup failed: Error: no server');
      await writeFile(file, answering(1));
      await dev.until(() => dev.stdout().includes('Watching'));
      dev.process.kill('SIGINT');
      expect(await dev.ended).to.equal(0);
    } finally {
      dev.process.kill('SIGKILL');
      await rm(cwd, { recursive: true });
    }
  });
});

describe('helper-gateway dev where its folder cannot be', () => {
  it('ends, and says which folder and why', async () => {
    const { code, stderr } = await runCommand(['dev', join(bin, 'below')], {});
    const told = `helper-gateway: the folder of helpers cannot be made: ${join(bin, 'below')} is no folder\n`;
    expect([code, stderr]).to.deep.equal([1, told]);
  });
});

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
