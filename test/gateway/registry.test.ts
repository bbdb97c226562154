import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { builtinPlugins, loadRegistry, PluginError } from '../../gateway/registry.js';
import { createVocabulary } from '../../schemas/vocabulary/vocabulary.js';
import { fixture } from '../fixtures.js';

async function problemsOf(...folders: string[]): Promise<string> {
  try {
    await loadRegistry(folders, createVocabulary());
  } catch (error) {
    expect(error).to.be.instanceOf(PluginError);
    return (error as Error).message;
  }
  throw new Error('was loaded');
}

describe('loadRegistry', () => {
  it('finds the four helpers that the package brings', async () => {
    const registry = await loadRegistry([builtinPlugins], createVocabulary());
    expect([...registry.keys()].sort()).to.deep.equal([
      'media/add-border',
      'media/add-watermark',
      'text/diff-two-strings',
      'text/remove-stopwords',
    ]);
  });

  it('takes the path below the folder as the route, for files and folders with an index', async () => {
    const registry = await loadRegistry([fixture('plugins/good')], createVocabulary());
    expect([...registry.keys()].sort()).to.deep.equal(['hello', 'team/size', 'team/typed', 'text']);
  });

  describe('in a folder without node_modules', () => {
    let folder: string;

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'plugins-'));
      await cp(fixture('plugins/good'), folder, { recursive: true });
    });

    after(() => rm(folder, { recursive: true }));

    it('loads plain objects and plugins that import helper-gateway/helper', async () => {
      const registry = await loadRegistry([folder], createVocabulary());
      expect([...registry.keys()]).to.include.members(['hello', 'team/typed']);
    });
  });

  const faults: [string, RegExp][] = [
    ['syntax', /broken\.js\n +cannot be loaded: SyntaxError: .* \(line 1\)/],
    ['throws', /cannot be loaded: Error: no database/],
    ['no-default', /has no default export/],
    ['no-handler', /handler/],
    ['unknown-key', /sumary.*summary/s],
    ['schema', /properties\/n\/type/],
    ['example', /n must be an integer from 0 to 5/],
    ['reserved', /ak/],
    ['inline-image', /runs/],
    ['route', /"Upper Case" cannot be part of a route/],
    ['no-route', /has no route/],
    ['own-path', /the gateway's own/],
  ];
  for (const [name, reason] of faults) {
    it(`stops at a fault and says which file and why: ${name}`, async () => {
      const message = await problemsOf(fixture(`plugins/bad/${name}`));
      expect(message).to.include(fixture(`plugins/bad/${name}`));
      expect(message).to.match(reason);
    });
  }

  it('stops at two plugins with one route and names both', async () => {
    const message = await problemsOf(builtinPlugins, fixture('plugins/bad/taken'));
    expect(message).to.match(/taken.*the route \/text\/remove-stopwords is taken by .*remove-stopwords/s);
  });

  it('stops at a folder that does not exist', async () => {
    expect(await problemsOf(fixture('plugins/nowhere'))).to.match(/nowhere\n.*does not exist/);
  });

  it('tells every fault at once', async () => {
    const message = await problemsOf(fixture('plugins/bad/syntax'), fixture('plugins/bad/schema'));
    expect(message)
      .to.match(/^2 plugins cannot be served/)
      .and.match(/SyntaxError/)
      .and.match(/n\/type/);
  });

  it('says what a plugin cannot find, without the gateway’s own places', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await writeFile(join(folder, 'lost.mjs'), "import './nowhere.mjs';\nexport default {};\n");
    const message = await problemsOf(folder);
    await rm(folder, { recursive: true });
    expect(message).to.include('nowhere.mjs').and.not.include('resolve-helper');
  });

  for (const [how, code] of [
    ['never finishes loading', 'await new Promise(() => {});'],
    ['ends the process as if all were well', 'process.exit(0);'],
  ] as const) {
    it(`names a plugin that ${how}, and the command fails`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
      await writeFile(join(folder, 'stuck.mjs'), `${code}\nexport default {};\n`);
      const cli = fileURLToPath(new URL('../../../gateway/bin.cjs', import.meta.url));
      const { status, stderr } = spawnSync(process.execPath, [cli, 'plugins', 'check', folder], {
        encoding: 'utf8',
      });
      await rm(folder, { recursive: true });
      expect(status).to.equal(1);
      expect(stderr).to.include('stuck.mjs');
    }).timeout(20_000);
  }
});
