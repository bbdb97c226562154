import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import { fixture } from '../../../fixtures.js';
import { runCommand, startGatewayProcess } from '../../harness.js';

const check = (folder: string, env: Record<string, string> = {}) =>
  runCommand(['plugins', 'check', folder], env);
const checkJson = async (folder: string, env: Record<string, string> = {}) => {
  const { code, stdout, stderr } = await runCommand(['plugins', 'check', folder, '--json'], env);
  return { code, stderr, ...JSON.parse(stdout) };
};
const idsOf = (plugins: { id: string }[]) => plugins.map(({ id }) => id);

describe('plugins check', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plugins-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const pluginOf = (more = '') =>
    `export default { summary: 'x', input: { type: 'object' }, handler: () => ({}), ${more} };`;
  const write = (name: string, text = pluginOf()) => writeFile(join(folder, name), text);

  it('lists the plugins of the folder alone, which may be served already', async () => {
    await cp(fixture('plugins/good'), folder, { recursive: true });
    const { code, data } = await checkJson(folder, { HELPER_PLUGINS: folder });
    expect(code).to.equal(0);
    expect(idsOf(data.plugins)).to.have.members(['hello', 'team/size', 'team/typed', 'text']);
  });

  it('says that a route is taken by a helper of the package', async () => {
    const { code, stderr } = await check(fixture('plugins/bad/taken'));
    expect(code).to.equal(1);
    expect(stderr).to.match(/the route \/text\/remove-stopwords is taken by .*remove-stopwords/);
    expect((await checkJson(fixture('plugins/bad/taken'))).error.details).to.have.length(1);
  });

  it('accepts the sources of the package’s image helpers in another folder', async () => {
    // Beside dist/, where the package's own are compiled.
    await cp(join(builtinPlugins, '../../plugins/media'), join(folder, 'mine'), { recursive: true });
    // It imports a package of the gateway's.
    await rm(join(folder, 'mine/info'), { recursive: true });
    const all = ['add-border', 'add-watermark', 'convert', 'crop', 'resize', 'rotate'];
    const ids = idsOf((await checkJson(folder)).data.plugins);
    expect(ids).to.have.members(all.map((name) => `mine/${name}`));
  });

  it('does not report the package’s own folder as a duplicate of itself, linked or not', async () => {
    await symlink(builtinPlugins, join(folder, 'link'));
    for (const path of [builtinPlugins, join(folder, 'link')]) {
      const { code, stdout } = await check(path);
      expect(code).to.equal(0);
      expect(stdout).to.match(/^9 plugins are fine/);
    }
  });

  it('names what is skipped, and accepts the rest', async () => {
    await cp(fixture('plugins/good'), folder, { recursive: true });
    await symlink('nowhere', join(folder, 'team/gone'));
    // Reading a pipe would wait for a writer for ever, also beside an index, which is checked for what it hides.
    execFileSync('mkfifo', [join(folder, 'team/pipe.mjs'), join(folder, 'team/other')]);
    await symlink('pipe.mjs', join(folder, 'team/linked.mjs'));
    await mkdir(join(folder, 'team/piped'));
    await write('team/piped/index.mjs');
    execFileSync('mkfifo', [join(folder, 'team/piped/pipe.mjs')]);
    const { code, stdout } = await check(folder);
    expect(code).to.equal(0);
    for (const [name, reason] of [
      ['gone', 'is skipped: the link to nowhere'],
      ['pipe.mjs', 'is skipped: it is no regular file'],
      ['linked.mjs', 'is skipped: it is no regular file'],
    ] as const)
      expect(stdout).to.include(`${join(folder, 'team', name)} ${reason}`);
    expect((await checkJson(folder)).data.skipped).to.have.length(4);
  });

  it('prints its result alone on standard output, whatever a plugin prints', async () => {
    const { ok, stderr } = await checkJson(fixture('plugins/printing'));
    expect(ok).to.equal(true);
    for (const how of ['by log', 'by info', 'by write', 'later']) expect(stderr).to.include(`printed ${how}`);
    expect((await check(fixture('plugins/printing'))).stdout).to.match(/^1 plugin is fine:\n.*\n$/);
  });

  it('ends, whatever a plugin keeps open', async () => {
    await write('open.mjs', `setInterval(() => {}, 1000);\n${pluginOf()}`);
    expect((await check(folder)).code).to.equal(0);
    await write('bad.mjs', 'export default 1;');
    expect((await check(folder)).code).to.equal(1);
  });

  it('says what each needs, and sets nothing up', async () => {
    const needs = `files: { logo: { kind: 'image', required: true } }, setup: () => { throw 1; },
      config: { key: { env: 'NEEDS_KEY', required: true, secret: true }, host: { env: 'NEEDS_HOST' } }`;
    await write('needs.mjs', pluginOf(needs));
    const { stdout } = await check(folder, { NEEDS_HOST: 'secret-value' });
    expect(stdout).to.match(/\/needs +pool +x\n +files: logo \(image, required\)\n/);
    expect(stdout)
      .to.include('NEEDS_KEY (required, not set), NEEDS_HOST (set)')
      .and.not.include('secret-value');
    await write('needs.mjs', pluginOf(`${needs}, output: { type: 'object', a: 1 }`));
    const faulty = await check(folder);
    expect(faulty.code).to.equal(1);
    expect(faulty.stderr).to.include('output.a');
  });

  it('names what is cut, and by which variable', async () => {
    const files = "files: { logo: { kind: 'image', maxBytes: 9000 } }";
    await write('greedy.mjs', pluginOf(`timeoutMs: 60000, ${files}`));
    const env = { HELPER_TASK_TIMEOUT_MS: '2000', HELPER_MAX_IMAGE_BYTES: '5000' };
    expect((await check(folder, env)).stdout)
      .to.include('time: 2000 ms')
      .and.include('timeoutMs 60000 is cut to 2000 by HELPER_TASK_TIMEOUT_MS')
      .and.include('files.logo.maxBytes 9000 is cut to 5000 by HELPER_MAX_IMAGE_BYTES');
    const [plugin] = (await checkJson(folder, env)).data.plugins;
    expect([plugin.timeout_ms, plugin.files[0].maxBytes]).to.deep.equal([2000, 5000]);
    expect(plugin.cut.map(({ declared }: { declared: number }) => declared)).to.deep.equal([60000, 9000]);
  });

  it('and serve --json print JSON alone on standard output, whatever a plugin prints', async () => {
    // Each line is parsed: what is not JSON fails the start.
    const gateway = await startGatewayProcess({
      HELPER_DATA_DIR: folder,
      HELPER_PLUGINS: fixture('plugins/printing'),
    });
    expect(gateway.written()).to.include('printed by log');
    expect(await gateway.stop()).to.equal(0);
  });
});
