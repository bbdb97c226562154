import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import { fixture } from '../../../fixtures.js';
import { runCommand, startGatewayProcess } from '../../harness.js';

const check = (...args: string[]) => runCommand(['plugins', 'check', ...args], {});

describe('plugins check', () => {
  it('lists the plugins of the folder, and no others', async () => {
    const { code, stdout } = await check(fixture('plugins/good'), '--json');
    expect(code).to.equal(0);
    const { data } = JSON.parse(stdout);
    const ids = data.plugins.map(({ id }: { id: string }) => id);
    expect(ids).to.have.members(['hello', 'team/size', 'team/typed', 'text']);
  });

  it('says that a route is taken by a helper of the package', async () => {
    const { code, stderr } = await check(fixture('plugins/bad/taken'));
    expect(code).to.equal(1);
    expect(stderr).to.match(/the route \/text\/remove-stopwords is taken by .*remove-stopwords/);
    const { stdout } = await check(fixture('plugins/bad/taken'), '--json');
    expect(JSON.parse(stdout).error.details).to.have.length(1);
  });

  it('takes the sources of the package’s image helpers as anybody’s own, from another folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    // Beside dist/, where the package's own are compiled.
    await cp(join(builtinPlugins, '../../plugins/media'), join(folder, 'mine'), { recursive: true });
    const { code, stdout } = await check(folder, '--json');
    expect(code).to.equal(0);
    const ids = JSON.parse(stdout).data.plugins.map(({ id }: { id: string }) => id);
    expect(ids).to.have.members(['mine/add-border', 'mine/add-watermark', 'mine/convert', 'mine/resize']);
    await rm(folder, { recursive: true });
  });

  it('takes the package’s own folder for no twin of itself, linked or not', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await symlink(builtinPlugins, join(folder, 'link'));
    for (const path of [builtinPlugins, join(folder, 'link')]) {
      const { code, stdout } = await check(path);
      expect(code).to.equal(0);
      expect(stdout).to.match(/^6 plugins are fine/);
    }
    await rm(folder, { recursive: true });
  });

  it('names what is skipped, and is content with the rest', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await cp(fixture('plugins/good'), folder, { recursive: true });
    await symlink('nowhere', join(folder, 'team/gone'));
    // To read one would wait for a writer for ever; beside an index it is read for what it hides.
    execFileSync('mkfifo', [join(folder, 'team/pipe.mjs'), join(folder, 'team/other')]);
    await symlink('pipe.mjs', join(folder, 'team/linked.mjs'));
    await mkdir(join(folder, 'team/piped'));
    await writeFile(
      join(folder, 'team/piped/index.mjs'),
      "export default { summary: 'a', input: { type: 'object', properties: {} }, handler: () => ({}) };",
    );
    execFileSync('mkfifo', [join(folder, 'team/piped/pipe.mjs')]);
    const [people, programs] = [await check(folder), await check(folder, '--json')];
    await rm(folder, { recursive: true });
    expect([people.code, programs.code]).to.deep.equal([0, 0]);
    expect(people.stdout).to.include(`${join(folder, 'team/gone')} is skipped: the link to nowhere`);
    expect(people.stdout).to.include(`${join(folder, 'team/pipe.mjs')} is skipped: it is no regular file`);
    expect(people.stdout).to.include(`${join(folder, 'team/linked.mjs')} is skipped: it is no regular file`);
    expect(JSON.parse(programs.stdout).data.skipped).to.have.length(4);
  });

  it('knows no twin in a folder that is served already', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await cp(fixture('plugins/good'), folder, { recursive: true });
    const { code } = await runCommand(['plugins', 'check', folder], { HELPER_PLUGINS: folder });
    await rm(folder, { recursive: true });
    expect(code).to.equal(0);
  });

  it('prints its result alone on standard output, whatever a plugin prints', async () => {
    const { stdout, stderr } = await check(fixture('plugins/printing'), '--json');
    expect(JSON.parse(stdout).ok).to.equal(true);
    for (const how of ['by log', 'by info', 'by write', 'later']) expect(stderr).to.include(`printed ${how}`);
    expect((await check(fixture('plugins/printing'))).stdout).to.match(/^1 plugin is fine:\n.*\n$/);
  });

  it('ends, whatever a plugin keeps open', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    const code = `setInterval(() => {}, 1000);
      export default { summary: 'x', input: { type: 'object' }, handler: () => ({}) };`;
    await writeFile(join(folder, 'open.mjs'), code);
    expect((await check(folder)).code).to.equal(0);
    await writeFile(join(folder, 'bad.mjs'), 'export default 1;');
    expect((await check(folder)).code).to.equal(1);
    await rm(folder, { recursive: true });
  });

  it('tells what each needs, and sets nothing up', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    const code = `export default { summary: 'x', input: { type: 'object' }, timeoutMs: 500, handler: () => ({}),
      files: { logo: { kind: 'image', required: true } }, setup: () => { throw 1; },
      config: { key: { env: 'NEEDS_KEY', required: true, secret: true }, host: { env: 'NEEDS_HOST' } } };`;
    await writeFile(join(folder, 'needs.mjs'), code);
    const env = { NEEDS_HOST: 'secret-value' };
    const { stdout } = await runCommand(['plugins', 'check', folder], env);
    expect(stdout).to.match(/\/needs +pool +x\n +files: logo \(image, required\)\n/);
    expect(stdout)
      .to.include('NEEDS_KEY (required, not set), NEEDS_HOST (set)')
      .and.not.include('secret-value');
    await writeFile(
      join(folder, 'needs.mjs'),
      code.replace('timeoutMs: 500', "output: { type: 'object', a: 1 }"),
    );
    const faulty = await runCommand(['plugins', 'check', folder], {});
    await rm(folder, { recursive: true });
    expect(faulty.code).to.equal(1);
    expect(faulty.stderr).to.include('output.a');
  });

  it('names what is cut, and by which variable', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    const code = `export default { summary: 'x', input: { type: 'object' }, timeoutMs: 60000, handler: () => ({}),
      files: { logo: { kind: 'image', maxBytes: 9000 } } };`;
    await writeFile(join(folder, 'greedy.mjs'), code);
    const env = { HELPER_TASK_TIMEOUT_MS: '2000', HELPER_MAX_IMAGE_BYTES: '5000' };
    const { stdout } = await runCommand(['plugins', 'check', folder], env);
    expect(stdout)
      .to.include('time: 2000 ms')
      .and.include('timeoutMs 60000 is cut to 2000 by HELPER_TASK_TIMEOUT_MS');
    expect(stdout).to.include('files.logo.maxBytes 9000 is cut to 5000 by HELPER_MAX_IMAGE_BYTES');
    const { data } = JSON.parse((await runCommand(['plugins', 'check', folder, '--json'], env)).stdout);
    await rm(folder, { recursive: true });
    expect(data.plugins[0].timeout_ms).to.equal(2000);
    expect(data.plugins[0].files[0].maxBytes).to.equal(5000);
    expect(data.plugins[0].cut.map(({ declared }: { declared: number }) => declared)).to.deep.equal([
      60000, 9000,
    ]);
  });

  it('says of a folder that does not exist that it does not', async () => {
    const { code, stderr } = await check(fixture('plugins/nowhere'));
    expect(code).to.equal(1);
    expect(stderr).to.include('does not exist');
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
