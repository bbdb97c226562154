import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { expect } from 'chai';
import { withVersions } from '../../../gateway/plugins/load-helpers.js';
import { builtinPlugins, version as packageVersion } from '../../../gateway/plugins/paths.js';

describe('versions of plugins', () => {
  const folders: string[] = [];
  afterEach(() => Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true }))));

  async function folderOf(files: Record<string, string>): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'versions-'));
    folders.push(folder);
    for (const [name, text] of Object.entries(files)) await write(folder, name, text);
    return folder;
  }

  async function write(folder: string, name: string, text: string): Promise<void> {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }

  async function versionOf(folder: string, load = async () => {}): Promise<string> {
    const { versionOf } = await withVersions([builtinPlugins, folder], load);
    return versionOf({ file: join(folder, 'text/a.mjs') });
  }

  const files = { 'text/a.mjs': 'a', 'text/_shared/b.mjs': 'b', 'data/words.txt': 'c' };

  it('are the same wherever the same files lie, whenever they are loaded', async () => {
    const [one, other] = [await folderOf(files), await folderOf(files)];
    const version = await versionOf(one);
    expect(version).to.match(/^[\w-]{43}$/);
    expect([await versionOf(one), await versionOf(other)]).to.deep.equal([version, version]);
  });

  for (const name of [...Object.keys(files), 'text/new.mjs']) {
    it(`are others once ${name} is another`, async () => {
      const folder = await folderOf(files);
      const version = await versionOf(folder);
      await write(folder, name, 'changed');
      expect(await versionOf(folder)).to.not.equal(version);
    });
  }

  it('are the same however the path of their folder is written', async () => {
    const folder = await folderOf(files);
    const version = await versionOf(folder);
    const link = `${folder}-link`;
    await symlink(folder, link);
    folders.push(link);
    const near = relative(process.cwd(), folder);
    for (const written of [`${folder}/`, `${folder}//text/..//`, near, `./${near}/`, link, `${link}/`]) {
      expect(await versionOf(written), written).to.equal(version);
    }
  });

  it('are the same though a link leads back to where it lies', async () => {
    const folder = await folderOf(files);
    await symlink('..', join(folder, 'text/loop'));
    await symlink('nowhere', join(folder, 'text/gone'));
    expect(await versionOf(folder)).to.equal(await versionOf(folder));
  });

  it('are others once a file has another name', async () => {
    const [one, other] = [
      await folderOf({ 'text/a.mjs': 'a', x: '1' }),
      await folderOf({ 'text/a.mjs': 'a', y: '1' }),
    ];
    expect(await versionOf(one)).to.not.equal(await versionOf(other));
  });

  it('leave alone what is installed, and what tells of the past', async () => {
    const folder = await folderOf(files);
    const version = await versionOf(folder);
    await write(folder, 'node_modules/x/index.js', 'x');
    await write(folder, '.git/HEAD', 'x');
    expect(await versionOf(folder)).to.equal(version);
  });

  it('are like no others where a file changed while they were loaded, or there are none', async () => {
    const folder = await folderOf(files);
    const load = async () => {
      await write(folder, 'text/a.mjs', 'changed');
    };
    const cut = await versionOf(folder, load);
    expect([await versionOf(folder), await versionOf(folder, load)]).to.not.include(cut);
    const gone = join(folder, 'gone');
    expect(await versionOf(gone)).to.not.equal(await versionOf(gone));
  });

  it('are found by a second look at the files’ times alone, once these are settled', async () => {
    const folder = await folderOf(files);
    const version = await versionOf(folder);
    const { now } = Date;
    Date.now = () => now() + 10_000;
    try {
      expect(await versionOf(folder)).to.equal(version);
      const load = () => write(folder, 'text/a.mjs', 'A');
      expect(await versionOf(folder, load)).to.not.equal(version);
    } finally {
      Date.now = now;
    }
  });

  it('are the package’s for its own', async () => {
    const { versionOf } = await withVersions([builtinPlugins], async () => undefined);
    expect(versionOf({ file: join(builtinPlugins, 'media/add-border/index.js'), shipped: true })).to.equal(
      packageVersion,
    );
  });
});
