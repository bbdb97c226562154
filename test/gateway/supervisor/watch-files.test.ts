import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { watchFiles } from '../../../gateway/supervisor/watch-files.js';

for (const [how, pollMs] of [
  ['whose changes the system reports', undefined],
  ['that is scanned again and again', 20],
] as const) {
  describe(`a watched folder ${how}`, () => {
    let folder: string;
    let watcher: { close(): void };
    let reported: Set<string>;
    let onReport: () => void = () => undefined;

    beforeEach(async () => {
      reported = new Set();
      folder = await mkdtemp(join(tmpdir(), 'watched-'));
      await mkdir(join(folder, 'text/_shared'), { recursive: true });
      await mkdir(join(folder, 'node_modules/x'), { recursive: true });
      await writeFile(join(folder, 'text/old.mjs'), '1');
      await symlink('..', join(folder, 'text/loop'));
      await start();
    });

    async function start(): Promise<void> {
      watcher = await watchFiles([folder], {
        pollMs,
        onChange(files) {
          for (const file of files) reported.add(file.slice(folder.length + 1));
          onReport();
        },
      });
    }

    afterEach(async () => {
      watcher.close();
      await rm(folder, { recursive: true });
    });

    async function until(...names: string[]): Promise<void> {
      while (!names.every((name) => reported.has(name))) {
        await new Promise<void>((resolve) => {
          onReport = resolve;
        });
      }
    }

    const write = (name: string, text = '12345') => writeFile(join(folder, name), text);

    it('reports a file once, though a link leads back to where it lies', async () => {
      await write('text/old.mjs');
      await until('text/old.mjs');
      expect([...reported]).to.deep.equal(['text/old.mjs']);
    });

    it('reports new, changed and deleted files, however deep', async () => {
      await write('new.mjs');
      await write('text/old.mjs');
      await write('text/_shared/words.json');
      await until('new.mjs', 'text/old.mjs', 'text/_shared/words.json');
      reported.clear();
      await rm(join(folder, 'new.mjs'));
      await until('new.mjs');
    });

    it('reports a file that an editor has written beside it and put into its place', async () => {
      await write('text/.old.mjs.swp');
      await rename(join(folder, 'text/.old.mjs.swp'), join(folder, 'text/old.mjs'));
      await until('text/old.mjs');
    });

    it('goes on when it was deleted and made anew, and when another was put into its place', async () => {
      await rm(folder, { recursive: true });
      await until('text/old.mjs');
      reported.clear();
      await mkdir(folder);
      await write('new.mjs');
      await until('new.mjs');
      reported.clear();
      await rename(folder, `${folder}-old`);
      await mkdir(folder);
      await write('newer.mjs');
      await until('newer.mjs');
      await rm(`${folder}-old`, { recursive: true });
    });

    it('reports nothing that is no plugin', async () => {
      for (const name of ['node_modules/x/index.js', 'text/old.mjs~', 'text/.#old.mjs', 'out.log', '4913']) {
        await write(name);
      }
      await write('last.mjs');
      await until('last.mjs');
      expect([...reported]).to.deep.equal(['last.mjs']);
    });

    it('reports nothing that was there before, however long its first scan takes', async () => {
      watcher.close();
      await Promise.all(Array.from({ length: 3_000 }, (_, at) => write(`text/${at}.mjs`)));
      await start();
      await write('last.mjs');
      await until('last.mjs');
      expect([...reported]).to.deep.equal(['last.mjs']);
    });

    it('reports what comes with a new folder, and what changes there later', async () => {
      await mkdir(join(folder, 'fresh/deep/est'), { recursive: true });
      await write('fresh/deep/est/late.mjs');
      await write('fresh/late.mjs');
      await until('fresh/late.mjs', 'fresh/deep/est/late.mjs');
      reported.clear();
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
