import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createPlugin } from '../../../../gateway/commands/plugins/create.js';
import { runCommand } from '../../harness.js';

const compiler = createRequire(import.meta.url)
  .resolve('typescript')
  .replace(/lib\/[^/]+$/, 'bin/tsc');

/** What an editor would say of a folder. */
function compile(folder: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], (_, stdout) => resolve(stdout));
  });
}

describe('plugins new', () => {
  const folder = mkdtempSync(join(tmpdir(), 'new-'));
  const file = (name: string) => join(folder, name);
  after(() => rmSync(folder, { recursive: true }));

  before(async () => {
    await createPlugin(file('text/shout'), {}, {});
    await createPlugin(file('text/loud'), { ts: true }, {});
  });

  it('writes plugins and tests that pass, with nothing installed', async () => {
    const { code, stdout, stderr } = await runCommand(['plugins', 'test', folder, '--runs', '5'], {});
    expect(stdout).to.match(
      /✓ \/text\/loud {2}1 example, 5 inputs\n✓ \/text\/shout .*\nnothing failed, own tests passed/,
    );
    expect(stderr).to.match(/pass 4/);
    expect(code).to.equal(0);
  });

  it('says what a package.json that is there lacks for TypeScript', async () => {
    const own = join(mkdtempSync(join(folder, 'own-')), 'package.json');
    for (const [text, name, ...notes] of [
      ['{ "dependencies": {} }', 'a', `For editors ${own} lacks "type": "module".`],
      ['{ "type": "module" }', 'b'],
    ] as const) {
      writeFileSync(own, text);
      const options = { ts: true, dir: join(own, '..') };
      expect((await createPlugin(join(own, '..', 'text', name), options, {})).notes).to.deep.equal(notes);
    }
  });

  it('has an editor know the types, and point at a misspelt keyword', async () => {
    expect(await compile(folder)).to.equal('');
    for (const name of ['text/shout.mjs', 'text/loud.ts']) {
      writeFileSync(file(name), readFileSync(file(name), 'utf8').replace('minLength', 'minLenght'));
    }
    const errors = await compile(folder);
    for (const name of [/shout\.mjs/, /loud\.ts/])
      expect(errors).to.match(
        new RegExp(`${name.source}\\(\\d+,\\d+\\): error .*Did you mean to write 'minLength'`),
      );
  });

  it('touches nothing that is there', async () => {
    const before = readFileSync(file('text/shout.mjs'), 'utf8');
    for (const options of [{}, { ts: true }]) {
      const again = await createPlugin(file('text/shout'), options, {}).catch((error) => error);
      expect(again.code).to.equal('exists');
      expect(again.message).to.include('text/shout.mjs');
    }
    expect(readFileSync(file('text/shout.mjs'), 'utf8')).to.equal(before);
  });

  it('says why its folder cannot be made', async () => {
    symlinkSync(join(folder, 'nowhere', 'below'), file('link'));
    const error = await createPlugin(file('link/shout'), { dir: file('link') }, {}).catch((reason) => reason);
    const problem = `cannot be written to: ${file('link')} is no folder`;
    expect(error.details).to.deep.equal([{ field: 'dir/route', problem }]);
    writeFileSync(file('words'), '');
    const below = await createPlugin(file('words/text/shout'), {}, {}).catch((reason) => reason);
    expect(below.details?.[0].problem).to.match(/^cannot be written to: .*words.* is no folder/);
  });

  it('says that a route is the package’s, before anything is written', async () => {
    const { code, stdout } = await runCommand(['plugins', 'new', file('media/add-border'), '--json'], {});
    expect(code).to.equal(1);
    expect(JSON.parse(stdout).error).to.deep.include({ code: 'exists' });
    expect(() => readFileSync(file('media/add-border.mjs'))).to.throw('ENOENT');
  });
});
