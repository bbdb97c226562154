import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { fixture } from '../../../fixtures.js';
import { skipWithout, toolFile } from '../../../needs.js';
import { startTestGateway, type TestGateway } from '../../harness.js';
import { documentOf, fixtureFolders } from './document-of.js';

const run = promisify(execFile);

describe('docs/openapi: to Redocly', () => {
  it('is a document without an error', async function () {
    const cli = toolFile(this, '@redocly/cli/bin/cli.js');
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    const file = join(folder, 'openapi.json');
    const { document } = await documentOf(fixtureFolders);
    await writeFile(file, JSON.stringify(document));
    // It sends neither statistics to its makers nor a request for a newer version.
    const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const env = { PATH: dirname(process.execPath), ...quiet };
    const args = [cli, 'lint', file, '--extends=recommended', '--format=json', '--skip-rule=tag-description'];
    const { stdout } = await run(process.execPath, args, { cwd: folder, env });
    await rm(folder, { recursive: true });
    const { totals, problems } = JSON.parse(stdout);
    expect(totals.errors + totals.warnings, JSON.stringify(problems, null, 1)).to.equal(0);
  });
});

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
    const compiling = run(process.execPath, [tsc, ...options, 'client.ts'], { cwd: folder });
    const compiled = await compiling.catch((failed) => failed);
    expect(compiled.stdout).to.equal('');
    const { stdout } = await run(process.execPath, [join(folder, 'client.js'), url, key]);
    expect(JSON.parse(stdout)).to.deep.equal({ diff: true, format: 'jpg', code: 'invalid_input' });
  });
});
