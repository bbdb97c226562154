import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { checkFolder } from '../../../../gateway/commands/plugins/check.js';
import { discoverPlugins, isTouched, type PluginProblem } from '../../../../gateway/plugins/discover.js';
import { withVersions } from '../../../../gateway/plugins/load-helpers.js';
import { loadRegistry } from '../../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import { PluginError, poolPlugins } from '../../../../gateway/plugins/registry.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';

const card = JSON.stringify({ steps: [{ use: 'media/resize', width: '{width}' }, { use: 'shop/frame' }] });
const frame = `export default { summary: 'x', source: 'image', input: { type: 'object' }, handler: () => 1 };`;

describe('recipes in files', function () {
  // A command waits until a plugin has had its time to load.
  this.timeout(30_000);

  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recipes-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function write(files: Record<string, string>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
  }
  const load = () => loadRegistry([builtinPlugins, folder], createVocabulary());
  /** What stops a start, by the file. */
  async function reasonsIn(files: Record<string, string>): Promise<Record<string, string>> {
    await write(files);
    const error = await load().catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(PluginError);
    const { problems } = error as PluginError;
    return Object.fromEntries(problems.map(({ file, reason }) => [file.slice(folder.length + 1), reason]));
  }

  it('are helpers by their paths, made of plugins that come later too', async () => {
    await write({
      'shop/card.recipe.json': `\ufeff${card}`,
      'shop/frame.mjs': frame,
      'shop/_x.recipe.json': 'x',
    });
    const registry = await load();
    const helper = registry.get('shop/card');
    expect(helper?.file).to.equal(join(folder, 'shop/card.recipe.json'));
    expect(helper?.parameters.properties.map(({ name }) => name)).to.include.members([
      'url',
      'width',
      'format',
    ]);
    expect(registry.has('shop/_x')).to.equal(false);
    // They have no code that a thread would import.
    const imported = poolPlugins(registry, {}).map(({ service }) => service);
    expect(imported).to.include('shop/frame').and.not.include.members(['shop/card', 'pipeline']);
  });

  it('name what is wrong with them, each file by its own', async () => {
    const reasons = await reasonsIn({
      'wrong.recipe.json':
        '{"steps": [{"use": "media/convert"}, {"use": "media/resize", "width": 0}], "x": 1}',
      'unread.recipe.json': '{\n  "steps": [,]\n}',
      'twice.recipe.json': '{"steps": [], "steps": []}',
      'list.recipe.json': '[]',
      'empty.recipe.json': '',
      'nested.recipe.json': '{"steps": [{"use": "fine"}]}',
      'fine.recipe.json': '{"steps": [{"use": "media/convert"}]}',
      'Capital.recipe.json': card,
      'ending.RECIPE.json': card,
      'recipes/mine.recipe.json': card,
      'pipeline.recipe.json': card,
      'both.recipe.json': card,
      'both.mjs': frame,
    });
    expect(reasons['wrong.recipe.json']).to.match(/^x is not known.*\nsteps\.1\.width must be an integer/);
    expect(reasons['unread.recipe.json']).to.match(/^must be JSON: what stands in line 2, column 13 /);
    expect(reasons['twice.recipe.json']).to.match(/^steps must be given once/);
    expect(reasons['list.recipe.json']).to.match(/must be a JSON object/);
    expect(reasons['empty.recipe.json']).to.match(/^must be JSON/);
    expect(reasons['nested.recipe.json']).to.match(/^steps\.0\.use must be one of/);
    expect(reasons['Capital.recipe.json']).to.match(/cannot be part of a route/);
    expect(reasons['ending.RECIPE.json']).to.match(/rename it to ending\.recipe\.json/);
    expect(reasons['recipes/mine.recipe.json']).to.match(/gateway's own/);
    expect(reasons['pipeline.recipe.json']).to.match(/gateway's own/);
    expect(reasons['both.recipe.json']).to.match(/keep both\.mjs or both\.recipe\.json/);
    expect(reasons).to.not.have.property('fine.recipe.json');
  });

  it('have a version of their own, and are reloaded by themselves', async () => {
    const file = join(folder, 'card.recipe.json');
    const versionOf = async (definition: object) => {
      await write({ 'card.recipe.json': JSON.stringify(definition) });
      const { loaded } = await withVersions([folder], load);
      return loaded.get('card')?.version;
    };
    const steps = [{ use: 'media/convert' }];
    const [first, again, other] = [
      await versionOf({ steps }),
      await versionOf({ steps, summary: 'x' }),
      await versionOf({ steps: [...steps, ...steps] }),
    ];
    expect(first).to.be.a('string').that.does.not.equal(other);
    expect(again).to.be.a('string');
    expect(isTouched(file, file, [file])).to.equal(true);
    expect(
      isTouched(file, join(folder, 'other.recipe.json'), [file, join(folder, 'other.recipe.json')]),
    ).to.equal(false);
  });

  it('are checked with the plugins of a folder, without the pipeline', async () => {
    await write({ 'shop/card.recipe.json': card, 'shop/frame.mjs': frame });
    const checked = await checkFolder(folder);
    if (checked instanceof PluginError) throw checked;
    expect(checked.map(({ id }) => id).sort()).to.deep.equal(['shop/card', 'shop/frame']);
    await write({ 'shop/card.recipe.json': card.replace('{width}', '{') });
    expect(await checkFolder(folder))
      .to.be.instanceOf(PluginError)
      .with.property('message')
      .that.contains('steps.0.width');
  });

  it('are named where an index hides them', async () => {
    await write({ 'shop/index.mjs': frame, 'shop/card.recipe.json': card });
    const skipped: PluginProblem[] = [];
    await loadRegistry([builtinPlugins, folder], createVocabulary(), {
      onSkipped: (each) => void skipped.push(each),
    });
    expect(skipped.map(({ file }) => file)).to.deep.equal([join(folder, 'shop/card.recipe.json')]);
    await write({ 'other/index.recipe.json': card });
    const { plugins } = await discoverPlugins(folder);
    expect(plugins.map(({ id }) => id)).to.include('other/index');
  });
});
