import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Helper } from '../../../gateway/helpers/registry.js';
import { answering, createReloadWorld, type ReloadWorld } from './reload-world.js';

async function emptyFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
}

describe('a reload', () => {
  let world: ReloadWorld;

  before(async () => {
    world = await createReloadWorld({ env: { GREETING: 'hello' } });
  });

  beforeEach(async () => {
    await emptyFolder(world.folder);
    await world.write('text/shout.mjs', answering(1));
    await world.write('text/whisper.mjs', answering('quiet'));
    await world.reload();
  });

  after(() => world.close());

  it('adds what is new, changes what has changed, and removes what is gone', async () => {
    await world.write('text/shout.mjs', answering(2));
    await world.write('new.mjs', answering('new'));
    await rm(world.path('text/whisper.mjs'));
    const report = await world.reload('text/shout.mjs', 'new.mjs', 'text/whisper.mjs');
    expect(report).to.deep.include({ added: ['new'], reloaded: ['text/shout'], removed: ['text/whisper'] });
    expect([await world.call('text/shout'), await world.call('new')]).to.deep.equal([2, 'new']);
    expect([...world.shelf.keys()]).to.deep.equal(['new', 'text/shout']);
  });

  it('follows a file to its new name', async () => {
    await rename(world.path('text/shout.mjs'), world.path('cry.mjs'));
    const report = await world.reload('text/shout.mjs', 'cry.mjs');
    expect(report).to.deep.include({ added: ['cry'], reloaded: [], removed: ['text/shout'] });
    expect(await world.call('cry')).to.equal(1);
  });

  it('follows a route to another file', async () => {
    await rm(world.path('text/shout.mjs'));
    await world.write('text/shout/index.js', answering('moved'));
    const report = await world.reload('text/shout.mjs', 'text/shout/index.js');
    expect(report.reloaded).to.deep.equal(['text/shout']);
    expect(await world.call('text/shout')).to.equal('moved');
  });

  it('leaves alone what the change does not concern, its state too', async () => {
    await world.write('count.mjs', `let n = 0; ${answering(0).replace(/=> \(.*?\)/, '=> ({ value: ++n })')}`);
    await world.reload('count.mjs');
    expect(await world.call('count')).to.equal(1);
    await world.write('text/shout.mjs', answering(2));
    await world.reload('text/shout.mjs');
    expect(await world.call('count')).to.equal(2);
  });

  it('loads anew what imports a shared file', async () => {
    const importing = `import { word } from './_shared/word.mjs';\n${answering(0).replace(/=> \(.*?\)/, '=> ({ value: word })')}`;
    await world.write('text/_shared/word.mjs', 'export const word = 1;');
    await world.write('text/shout.mjs', importing);
    await world.reload();
    await world.write('text/_shared/word.mjs', 'export const word = 2;');
    const report = await world.reload('text/_shared/word.mjs');
    expect(report.reloaded).to.have.members(['text/shout', 'text/whisper']);
    expect(await world.call('text/shout')).to.equal(2);
  });

  it('has a call that began before end with the version that it began with', async () => {
    const before = world.shelf.get('text/shout') as Helper;
    before.group?.enter();
    await world.write('text/shout.mjs', answering(2));
    await world.write('text/whisper.mjs', answering('loud'));
    await world.reload();
    expect(await world.call('text/shout', before)).to.equal(1);
    expect(await world.call('text/shout')).to.equal(2);
    before.group?.leave();
  });

  it('gives plugins their configuration, and runs their setup', async () => {
    const more = `config: { greeting: { env: 'GREETING', required: true } },
      setup: ({ config }) => config.greeting.toUpperCase(),`;
    const source = answering(0, more).replace(/\(\) => \(.*?\)/, '(_, { state }) => ({ value: state })');
    await world.write('greet.mjs', source);
    await world.reload('greet.mjs');
    expect(await world.call('greet')).to.equal('HELLO');
  });

  it('keeps few groups of threads, however many plugins are changed one by one', async () => {
    for (let index = 0; index < 5; index += 1) {
      await world.write(`p${index}.mjs`, answering(index));
      await world.reload(`p${index}.mjs`);
    }
    const groups = new Set([...world.shelf.values()].map(({ group }) => group));
    expect(groups.size).to.be.at.most(4);
    for (let index = 0; index < 5; index += 1) expect(await world.call(`p${index}`)).to.equal(index);
  });

  it('keeps what is served where the folder cannot be read for a moment', async () => {
    await rename(world.folder, `${world.folder}-away`);
    const report = await world.reload();
    expect(report.removed).to.deep.equal([]);
    expect(report.problems[0]?.reason).to.include('does not exist');
    expect(await world.call('text/shout')).to.equal(1);
    await rename(`${world.folder}-away`, world.folder);
    await world.reload();
    expect(world.shelf.problems()).to.deep.equal([]);
  });

  it('finds nothing in an empty folder, and says so', async () => {
    await rm(world.path('text'), { recursive: true });
    await mkdir(world.path('text'));
    const report = await world.reload();
    expect(report).to.deep.include({ removed: ['text/shout', 'text/whisper'], problems: [] });
    expect(world.shelf.size).to.equal(0);
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
