import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { skipWithout, until } from '../../needs.js';
import { answering } from '../answering.js';
import { bin, childrenOf, runCommand, startChild } from '../harness.js';
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

/** A process's variables; none of one that has just ended. */
function environmentOf(pid: number): string[] {
  try {
    return [readFileSync(`/proc/${pid}/environ`, 'utf8')].filter(Boolean);
  } catch {
    return [];
  }
}

describe('helper-gateway dev in an empty folder', () => {
  let dev: DevProcess;
  let folder: string;

  before(async () => {
    dev = await startDev();
    folder = dev.folder;
  });
  after(() => dev?.end());

  async function call(path = 'text/say?text=hi', init?: RequestInit) {
    const response = await fetch(`${dev.url}/${path}&ak=${dev.key}`, init);
    const { data, error } = JSON.parse(await response.text());
    return { status: response.status, said: data?.said, message: error?.message };
  }

  it('makes the folder, and serves what the package has', async () => {
    expect(dev.stdout()).to.include(`created ${join(folder, 'helpers')}`);
    expect(await call()).to.include({ status: 404 });
  });

  it('serves a file that is dropped in, and what is saved over it', async () => {
    await dev.save('text/say.mjs', saying('one'), /added text\/say in \d+ ms/);
    expect(await call()).to.include({ status: 200, said: 'one hi' });
    await dev.save('text/say.mjs', saying('two'), /reloaded text\/say in \d+ ms/);
    expect(await call()).to.include({ status: 200, said: 'two hi' });
  });

  it('keeps the first key out of the environment of its processes', async function () {
    if (process.platform !== 'linux') skipWithout(this, 'Linux, which shows its processes as files');
    const environments = await until(() => {
      const all = childrenOf(dev.child.pid as number).flatMap(environmentOf);
      return all.length > 1 && all;
    });
    for (const each of environments) expect(each).not.to.include(dev.key);
  });

  it('goes on with the last good version of a broken one, and names file and line on stderr', async () => {
    await dev.save('text/say.mjs', 'export default {\n  summary: "x"\n  input: {}\n}', /SyntaxError/);
    expect(dev.stderr()).to.include(`${folder}/helpers/text/say.mjs`).and.include('line 3');
    expect(await call()).to.include({ status: 200, said: 'two hi' });
  });

  it('serves the one that is mended, and shows its fault in full to a caller on this host', async () => {
    await dev.save('text/say.mjs', saying('', '({ text }) => text.no.such'), /reloaded text\/say/);
    const { status, message } = await call();
    expect(status).to.equal(500);
    expect(message).to.include("TypeError: Cannot read properties of undefined (reading 'such')");
    expect(message).to.include(`${join(folder, 'helpers', 'text', 'say.mjs')}:4:`);
    const agent = await modernAgent(dev.url, dev.key);
    const { content } = await agent.callTool({ name: 'text_say', arguments: { text: 'hi' } });
    await agent.close();
    expect(content[0].text).to.include(`internal: ${message}\n`);
  });

  it('reloads what imports a shared file that is saved', async () => {
    await dev.save('_words.json', '{"word": "three"}', /reloaded text\/say/);
    const source = `import { readFileSync } from 'node:fs';
const { word } = JSON.parse(readFileSync(new URL('../_words.json', import.meta.url), 'utf8'));
${saying('', "({ text }) => ({ said: word + ' ' + text })")}`;
    await dev.save('text/say.mjs', source, /reloaded text\/say/);
    expect((await call()).said).to.equal('three hi');
    await dev.save('_words.json', '{"word": "four"}', /reloaded text\/say/);
    expect((await call()).said).to.equal('four hi');
  });

  it('serves a file in TypeScript by GET and POST, to agents, and in the OpenAPI document', async () => {
    const typed = saying('', '({ text }: { text: string }) => ({ said: text.toUpperCase() })');
    await dev.save('text/typed.ts', typed, /added text\/typed in \d+ ms/);
    expect((await call('text/typed?text=hi')).said).to.equal('HI');
    const headers = { 'content-type': 'application/json' };
    const posted = await call('text/typed?', { method: 'POST', headers, body: '{"text":"hi"}' });
    expect(posted.said).to.equal('HI');
    const agent = await modernAgent(dev.url, dev.key);
    const { content } = await agent.callTool({ name: 'text_typed', arguments: { text: 'hi' } });
    expect(content[0].text).to.equal('{"said":"HI"}');
    await agent.close();
    const { paths } = (await (await fetch(`${dev.url}/openapi.json`)).json()) as { paths: object };
    expect(paths).to.have.nested.property('/text/typed').that.has.keys('get', 'post');
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

describe('helper-gateway dev that cannot start', () => {
  it('says which helper cannot be set up and why, and starts when it is mended', async () => {
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

  it('says which folder cannot be made and why', async () => {
    const { code, stderr } = await runCommand(['dev', join(bin, 'below')], {});
    const words = `helper-gateway: the folder of helpers cannot be made: ${join(bin, 'below')} is no folder\n`;
    expect([code, stderr]).to.deep.equal([1, words]);
  });
});
