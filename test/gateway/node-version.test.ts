import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs a script as if this Node were another one. */
function runAs(version: string, script: string): Promise<{ code: unknown; stderr: string }> {
  const pretend = `Object.defineProperty(process, 'version', { value: '${version}' })`;
  const url = `data:text/javascript,${encodeURIComponent(pretend)}`;
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', url, script, '--version'], { cwd: root }, (error, _, stderr) =>
      resolve({ code: error?.code ?? 0, stderr }),
    );
  });
}

describe('the version of Node', () => {
  for (const [script, what] of [
    ['gateway/bin.cjs', 'the command'],
    ['.build/build.mjs', 'the build'],
  ] as const) {
    for (const version of ['18.19.0', '20.18.3']) {
      it(`${version} is told by ${what} that it is too old, and which one is wanted`, async () => {
        const { code, stderr } = await runAs(`v${version}`, script);
        expect(stderr).to.equal(`helper-gateway needs Node 20.19 or later; this is ${version}\n`);
        expect(code).to.equal(1);
      });
    }
  }

  for (const version of ['20.19.0', '22.1.0', '100.0.0']) {
    it(`${version} will do`, async () => {
      expect(await runAs(`v${version}`, 'gateway/bin.cjs')).to.deep.equal({ code: 0, stderr: '' });
    });
  }
});
