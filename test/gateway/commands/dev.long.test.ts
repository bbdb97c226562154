import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { bin, runCommand } from '../gateway-process.js';
import { modernAgent } from '../mcp/agents.js';
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

describe('helper-gateway dev where its folder cannot be', () => {
  it('ends, and says which folder and why', async () => {
    const { code, stderr } = await runCommand(['dev', join(bin, 'below')], {});
    const told = `helper-gateway: the folder of helpers cannot be made: ${join(bin, 'below')} is no folder\n`;
    expect([code, stderr]).to.deep.equal([1, told]);
  });
});
