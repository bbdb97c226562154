import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { watchFiles } from '../../../gateway/supervisor/watch-files.js';

for (const [how, pollMs] of [
  ['that tells of changes', undefined],
  ['that is looked at again and again', 20],
] as const) {
  describe(`a watched folder ${how}`, () => {
    let folder: string;
    let watcher: { close(): void };
    let told: Set<string>;
    let heard: () => void = () => undefined;

    beforeEach(async () => {
      told = new Set();
      folder = await mkdtemp(join(tmpdir(), 'watched-'));
      await mkdir(join(folder, 'text/_shared'), { recursive: true });
      await mkdir(join(folder, 'node_modules/x'), { recursive: true });
      await writeFile(join(folder, 'text/old.mjs'), '1');
      await symlink('..', join(folder, 'text/loop'));
      watcher = await watchFiles([folder], {
        pollMs,
        onChange(files) {
          for (const file of files) told.add(file.slice(folder.length + 1));
          heard();
        },
      });
    });

    afterEach(async () => {
      watcher.close();
      await rm(folder, { recursive: true });
    });

    async function until(...names: string[]): Promise<void> {
      while (!names.every((name) => told.has(name))) {
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      }
    }

    const write = (name: string, text = '12345') => writeFile(join(folder, name), text);

    it('tells of a file once, though a link leads back to where it lies', async () => {
      await write('text/old.mjs');
      await until('text/old.mjs');
      expect([...told]).to.deep.equal(['text/old.mjs']);
    });

    it('tells of new, changed and deleted files, however deep', async () => {
      await write('new.mjs');
      await write('text/old.mjs');
      await write('text/_shared/words.json');
      await until('new.mjs', 'text/old.mjs', 'text/_shared/words.json');
      told.clear();
      await rm(join(folder, 'new.mjs'));
      await until('new.mjs');
    });

    it('tells of a file that an editor has written beside it and put into its place', async () => {
      await write('text/.old.mjs.swp');
      await rename(join(folder, 'text/.old.mjs.swp'), join(folder, 'text/old.mjs'));
      await until('text/old.mjs');
    });

    it('goes on when it was deleted and made anew, and when another was put into its place', async () => {
      await rm(folder, { recursive: true });
      await until('text/old.mjs');
      told.clear();
      await mkdir(folder);
      await write('new.mjs');
      await until('new.mjs');
      told.clear();
      await rename(folder, `${folder}-old`);
      await mkdir(folder);
      await write('newer.mjs');
      await until('newer.mjs');
      await rm(`${folder}-old`, { recursive: true });
    });

    it('tells nothing of what is nobody’s plugin', async () => {
      for (const name of ['node_modules/x/index.js', 'text/old.mjs~', 'text/.#old.mjs', 'out.log', '4913']) {
        await write(name);
      }
      await write('last.mjs');
      await until('last.mjs');
      expect([...told]).to.deep.equal(['last.mjs']);
    });

    it('tells of what comes with a new folder, and of what changes there later', async () => {
      await mkdir(join(folder, 'fresh/deep/est'), { recursive: true });
      await write('fresh/deep/est/late.mjs');
      await write('fresh/late.mjs');
      await until('fresh/late.mjs', 'fresh/deep/est/late.mjs');
      told.clear();
      await write('fresh/deep/est/late.mjs', '123456');
      await until('fresh/deep/est/late.mjs');
    });

    it('waits for the text of a file that was emptied', async () => {
      await write('text/old.mjs', '');
      setTimeout(() => void write('text/old.mjs', 'export default 1;'), 60);
      await until('text/old.mjs');
      expect(await readFile(join(folder, 'text/old.mjs'), 'utf8')).to.equal('export default 1;');
    });
  });
}
