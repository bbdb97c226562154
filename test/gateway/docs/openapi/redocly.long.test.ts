import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { toolFile } from '../../../needs.js';
import { documentOf, fixtureFolders } from './document-of.js';

describe('docs/openapi: to Redocly', () => {
  it('is a document without an error', async function () {
    const cli = toolFile(this, '@redocly/cli/bin/cli.js');
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    const file = join(folder, 'openapi.json');
    const { document } = await documentOf(fixtureFolders);
    await writeFile(file, JSON.stringify(document));
    // It calls nobody: neither its makers with figures, nor the registry for a newer version.
    const env = {
      PATH: dirname(process.execPath),
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    };
    const args = [cli, 'lint', file, '--extends=recommended', '--format=json', '--skip-rule=tag-description'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
    await rm(folder, { recursive: true });
    const { totals, problems } = JSON.parse(stdout);
    expect(
      totals.errors + totals.warnings,
      problems
        .map(
          ({ message, location }: { message: string; location: { pointer: string }[] }) =>
            `${location[0]?.pointer}: ${message}`,
        )
        .join('\n'),
    ).to.equal(0);
  });
});
