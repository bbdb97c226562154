import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Helper } from '../../../gateway/plugins/registry.js';
import { answering, createReloadWorld, type ReloadWorld } from './reload-world.js';

async function emptyFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
}

/** What is served before a change. */
const plugins: Record<string, string> = {
  'count.mjs': `let n = 0; ${answering(0).replace(/=> \(.*?\)/, '=> ({ value: ++n })')}`,
  'greet.mjs': answering(
    0,
    `config: { greeting: { env: 'GREETING', required: true } }, setup: ({ config }) => config.greeting.toUpperCase(),`,
  ).replace(/\(\) => \(.*?\)/, '(_, { state }) => ({ value: state })'),
  'talk/_shared/word.mjs': 'export const word = 1;',
  'talk/mumble.mjs': answering('unclear'),
  'talk/say.mjs': `import { word } from './_shared/word.mjs';\n${answering(0).replace(/=> \(.*?\)/, '=> ({ value: word })')}`,
  'text/shout.mjs': answering(1),
  'text/whisper.mjs': answering('quiet'),
};
const ids = ['count', 'greet', 'talk/mumble', 'talk/say', 'text/shout', 'text/whisper'];

describe('a reload', () => {
  let world: ReloadWorld;

  before(async () => {
    world = await createReloadWorld({ env: { GREETING: 'hello' } });
  });
  after(() => world.close());

  async function begin(): Promise<void> {
    await emptyFolder(world.folder);
    for (const [name, text] of Object.entries(plugins)) await world.write(name, text);
    await world.reload();
  }

  // A fourth change would have everything loaded anew.
  describe('of one change and another', () => {
    before(begin);

    it('adds what is new, changes what has changed, and removes what is gone', async () => {
      await world.write('text/shout.mjs', answering(2));
      await world.write('new.mjs', answering('new'));
      await rm(world.path('text/whisper.mjs'));
      const report = await world.reload('text/shout.mjs', 'new.mjs', 'text/whisper.mjs');
      expect(report).to.deep.include({ added: ['new'], reloaded: ['text/shout'], removed: ['text/whisper'] });
      expect([await world.call('text/shout'), await world.call('new')]).to.deep.equal([2, 'new']);
      const served = ids
        .filter((id) => id !== 'text/whisper')
        .concat('new')
        .sort();
      expect([...world.shelf.keys()]).to.deep.equal(served);
    });

    it('follows a file to its new name, and a route to another file', async () => {
      await rename(world.path('talk/mumble.mjs'), world.path('cry.mjs'));
      await rm(world.path('text/shout.mjs'));
      await world.write('text/shout/index.js', answering('moved'));
      const changed = ['talk/mumble.mjs', 'cry.mjs', 'text/shout.mjs', 'text/shout/index.js'];
      const report = await world.reload(...changed);
      expect(report).to.deep.include({
        added: ['cry'],
        reloaded: ['text/shout'],
        removed: ['talk/mumble'],
      });
      expect([await world.call('cry'), await world.call('text/shout')]).to.deep.equal(['unclear', 'moved']);
    });

    it('leaves alone what the change does not concern, its state too', async () => {
      expect(await world.call('count')).to.equal(1);
      await world.write('text/shout/index.js', answering(2));
      await world.reload('text/shout/index.js');
      expect(await world.call('count')).to.equal(2);
    });
  });

  describe('of the same folder', () => {
    before(begin);

    it('loads anew what imports a shared file', async () => {
      await world.write('talk/_shared/word.mjs', 'export const word = 2;');
      const report = await world.reload('talk/_shared/word.mjs');
      expect(report.reloaded).to.have.members(['talk/mumble', 'talk/say']);
      expect(await world.call('talk/say')).to.equal(2);
    });

    it('has a call that began before end with the version that it began with', async () => {
      const before = world.shelf.get('text/shout') as Helper;
      before.group?.enter();
      await world.write('text/shout.mjs', answering(2));
      await world.reload();
      expect(await world.call('text/shout', before)).to.equal(1);
      expect(await world.call('text/shout')).to.equal(2);
      before.group?.leave();
    });

    it('gives plugins their configuration, and runs their setup', async () => {
      expect(await world.call('greet')).to.equal('HELLO');
    });

    it('keeps few groups of threads, however many plugins are changed one by one', async () => {
      for (let index = 0; index < 4; index += 1) {
        await world.write(`p${index}.mjs`, answering(index));
        await world.reload(`p${index}.mjs`);
      }
      const groups = new Set([...world.shelf.values()].map(({ group }) => group));
      expect(groups.size).to.be.at.most(4);
      for (let index = 0; index < 4; index += 1) expect(await world.call(`p${index}`)).to.equal(index);
    });

    it('keeps what is served where the folder cannot be read for a moment', async () => {
      await rename(world.folder, `${world.folder}-away`);
      const report = await world.reload();
      expect(report.removed).to.deep.equal([]);
      expect(report.problems[0]?.reason).to.include('does not exist');
      expect(await world.call('talk/mumble')).to.equal('unclear');
      await rename(`${world.folder}-away`, world.folder);
      await world.reload();
      expect(world.shelf.problems()).to.deep.equal([]);
    });

    it('finds nothing in an empty folder, and says so', async () => {
      await emptyFolder(world.folder);
      const report = await world.reload();
      expect(report.removed).to.include.members(ids);
      expect(report.problems).to.deep.equal([]);
      expect(world.shelf.size).to.equal(0);
    });
  });
});

describe('a reload of everything in a gateway that serves', () => {
  it('takes the package’s helpers along, and leaves no threads behind', async () => {
    const first = await createReloadWorld();
    await first.write('shipped.mjs', answering('shipped'));
    await first.reload();
    const shipped = { ...(first.shelf.get('shipped') as Helper), id: 'text/shipped', shipped: true };
    const world = await createReloadWorld({ together: true, shipped: [shipped] });
    await world.write('own.mjs', answering('own'));
    await world.reload();
    await world.write('own.mjs', answering('newer'));
    await world.reload();
    expect(await world.call('text/shipped')).to.equal('shipped');
    expect(await world.call('own')).to.equal('newer');
    const groups = new Set([...world.shelf.values()].map(({ group }) => group));
    expect(groups.size).to.equal(1);
    expect(groups.has(world.pool.first)).to.equal(false);
    await world.close();
    await first.close();
  });
});
