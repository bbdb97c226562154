import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { fixture } from '../../../fixtures.js';
import { skipWithout } from '../../../needs.js';
import { startTestGateway, type TestGateway } from '../../harness.js';

const run = promisify(execFile);
const tsc = join(dirname(fileURLToPath(import.meta.resolve('typescript/package.json'))), 'bin', 'tsc');
const nodeModules = fileURLToPath(new URL('../../../../../node_modules', import.meta.url));

describe('docs/openapi: of a client made from the document', function () {
  this.timeout(60_000);
  let gateway: TestGateway | undefined;
  let folder: string;
  before(async function () {
    if (!process.env.OPENAPI_TYPESCRIPT)
      skipWithout(this, 'openapi-typescript (OPENAPI_TYPESCRIPT: its cli.js)');
    folder = await mkdtemp(join(tmpdir(), 'openapi-client-'));
    gateway = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/openapi'), LOG_LEVEL: 'silent' });
  });
  after(async () => {
    await gateway?.close();
    if (folder) await rm(folder, { recursive: true });
  });

  it('has types that compile, hold what is required, and call the gateway', async () => {
    const { url = '', key = '' } = gateway ?? {};
    const generator = process.env.OPENAPI_TYPESCRIPT ?? '';
    await run(process.execPath, [generator, `${url}/openapi.json`, '-o', join(folder, 'schema.d.ts')]);
    await copyFile(fixture('openapi-client/client.ts'), join(folder, 'client.ts'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await symlink(nodeModules, join(folder, 'node_modules'));
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
    const compiled = await run(process.execPath, [tsc, ...options, 'client.ts'], { cwd: folder }).catch(
      (failed) => failed,
    );
    expect(compiled.stdout).to.equal('');
    const { stdout } = await run(process.execPath, [join(folder, 'client.js'), url, key]);
    expect(JSON.parse(stdout)).to.deep.equal({ diff: true, format: 'jpg', code: 'invalid_input' });
  });
});
