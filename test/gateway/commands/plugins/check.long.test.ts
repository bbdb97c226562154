import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import { fixture } from '../../../fixtures.js';
import { runCommand, startGatewayProcess } from '../../harness.js';

const check = (...args: string[]) => runCommand(['plugins', 'check', ...args], {});
const checkIn = (env: Record<string, string>, ...args: string[]) =>
  runCommand(['plugins', 'check', ...args], env);
const idsIn = (stdout: string) => JSON.parse(stdout).data.plugins.map(({ id }: { id: string }) => id);

describe('plugins check', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plugins-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const write = (name: string, more: string) =>
    writeFile(
      join(folder, name),
      `export default { summary: 'x', input: { type: 'object' }, handler: () => ({}), ${more} };`,
    );

  it('lists the plugins of the folder alone, which may be served already', async () => {
    await cp(fixture('plugins/good'), folder, { recursive: true });
    const { code, stdout } = await checkIn({ HELPER_PLUGINS: folder }, folder, '--json');
    expect(code).to.equal(0);
    expect(idsIn(stdout)).to.have.members(['hello', 'team/size', 'team/typed', 'text']);
  });

  it('says that a route is taken by a helper of the package', async () => {
    const { code, stderr } = await check(fixture('plugins/bad/taken'));
    expect(code).to.equal(1);
    expect(stderr).to.match(/the route \/text\/remove-stopwords is taken by .*remove-stopwords/);
    const { stdout } = await check(fixture('plugins/bad/taken'), '--json');
    expect(JSON.parse(stdout).error.details).to.have.length(1);
  });

  it('accepts the sources of the package’s image helpers in another folder', async () => {
    // Beside dist/, where the package's own are compiled.
    await cp(join(builtinPlugins, '../../plugins/media'), join(folder, 'mine'), { recursive: true });
    const { code, stdout } = await check(folder, '--json');
    expect(code).to.equal(0);
    const all = ['mine/add-border', 'mine/add-watermark', 'mine/convert', 'mine/resize'];
    expect(idsIn(stdout)).to.have.members(all);
  });

  it('does not report the package’s own folder as a duplicate of itself, linked or not', async () => {
    await symlink(builtinPlugins, join(folder, 'link'));
    for (const path of [builtinPlugins, join(folder, 'link')]) {
      const { code, stdout } = await check(path);
      expect(code).to.equal(0);
      expect(stdout).to.match(/^6 plugins are fine/);
    }
  });

  it('names what is skipped, and accepts the rest', async () => {
    await cp(fixture('plugins/good'), folder, { recursive: true });
    await symlink('nowhere', join(folder, 'team/gone'));
    // Reading a pipe would wait for a writer for ever, also beside an index, which is checked for what it hides.
    execFileSync('mkfifo', [join(folder, 'team/pipe.mjs'), join(folder, 'team/other')]);
    await symlink('pipe.mjs', join(folder, 'team/linked.mjs'));
    await mkdir(join(folder, 'team/piped'));
    await write('team/piped/index.mjs', '');
    execFileSync('mkfifo', [join(folder, 'team/piped/pipe.mjs')]);
    const [people, programs] = [await check(folder), await check(folder, '--json')];
    expect([people.code, programs.code]).to.deep.equal([0, 0]);
    for (const [name, reason] of [
      ['gone', 'is skipped: the link to nowhere'],
      ['pipe.mjs', 'is skipped: it is no regular file'],
      ['linked.mjs', 'is skipped: it is no regular file'],
    ] as const)
      expect(people.stdout).to.include(`${join(folder, 'team', name)} ${reason}`);
    expect(JSON.parse(programs.stdout).data.skipped).to.have.length(4);
  });

  it('prints its result alone on standard output, whatever a plugin prints', async () => {
    const { stdout, stderr } = await check(fixture('plugins/printing'), '--json');
    expect(JSON.parse(stdout).ok).to.equal(true);
    for (const how of ['by log', 'by info', 'by write', 'later']) expect(stderr).to.include(`printed ${how}`);
    expect((await check(fixture('plugins/printing'))).stdout).to.match(/^1 plugin is fine:\n.*\n$/);
  });

  it('ends, whatever a plugin keeps open', async () => {
    const plugin = "export default { summary: 'x', input: { type: 'object' }, handler: () => ({}) };";
    await writeFile(join(folder, 'open.mjs'), `setInterval(() => {}, 1000);\n${plugin}`);
    expect((await check(folder)).code).to.equal(0);
    await writeFile(join(folder, 'bad.mjs'), 'export default 1;');
    expect((await check(folder)).code).to.equal(1);
  });

  it('says what each needs, and sets nothing up', async () => {
    const needs = `files: { logo: { kind: 'image', required: true } }, setup: () => { throw 1; },
      config: { key: { env: 'NEEDS_KEY', required: true, secret: true }, host: { env: 'NEEDS_HOST' } }`;
    await write('needs.mjs', needs);
    const { stdout } = await checkIn({ NEEDS_HOST: 'secret-value' }, folder);
    expect(stdout).to.match(/\/needs +pool +x\n +files: logo \(image, required\)\n/);
    expect(stdout)
      .to.include('NEEDS_KEY (required, not set), NEEDS_HOST (set)')
      .and.not.include('secret-value');
    await write('needs.mjs', `${needs}, output: { type: 'object', a: 1 }`);
    const faulty = await check(folder);
    expect(faulty.code).to.equal(1);
    expect(faulty.stderr).to.include('output.a');
  });

  it('names what is cut, and by which variable', async () => {
    await write('greedy.mjs', "timeoutMs: 60000, files: { logo: { kind: 'image', maxBytes: 9000 } }");
    const env = { HELPER_TASK_TIMEOUT_MS: '2000', HELPER_MAX_IMAGE_BYTES: '5000' };
    const { stdout } = await checkIn(env, folder);
    expect(stdout).to.include('time: 2000 ms');
    expect(stdout).to.include('timeoutMs 60000 is cut to 2000 by HELPER_TASK_TIMEOUT_MS');
    expect(stdout).to.include('files.logo.maxBytes 9000 is cut to 5000 by HELPER_MAX_IMAGE_BYTES');
    const [plugin] = JSON.parse((await checkIn(env, folder, '--json')).stdout).data.plugins;
    expect([plugin.timeout_ms, plugin.files[0].maxBytes]).to.deep.equal([2000, 5000]);
    expect(plugin.cut.map(({ declared }: { declared: number }) => declared)).to.deep.equal([60000, 9000]);
  });
});

describe('serve --json', () => {
  it('prints JSON alone on standard output, whatever a plugin prints', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    // Each line is parsed: what is not JSON fails the start.
    const gateway = await startGatewayProcess({
      HELPER_DATA_DIR: dataDir,
      HELPER_PLUGINS: fixture('plugins/printing'),
    });
    expect(gateway.written()).to.include('printed by log');
    expect(await gateway.stop()).to.equal(0);
    await rm(dataDir, { recursive: true });
  });
});
