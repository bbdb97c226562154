import { expect } from 'chai';
import { type Answer, answer } from '../../../gateway/commands/output.js';

const evil = 'a\u001b[2J\u009b31m\u202eb';

/** What a command prints on a terminal, or to a program, for this answer or error. */
async function printed(isTTY: boolean, json: boolean, work: () => Promise<Answer>) {
  const shown = { stdout: '', stderr: '' };
  const stdout = { write: (text: string) => (shown.stdout += text), isTTY };
  const stderr = { write: (text: string) => (shown.stderr += text) };
  await answer({ stdout, stderr, setExitCode: () => undefined, exit: () => undefined }, json, work);
  return shown;
}

describe("a command's output", () => {
  const work = async () => ({ data: { evil }, notes: [evil], result: evil });

  it('controls no terminal, whatever it holds', async () => {
    for (const json of [false, true]) {
      for (const each of [work, () => Promise.reject(new Error(evil))]) {
        const { stdout, stderr } = await printed(true, json, each);
        expect(stdout + stderr)
          .to.match(/\[2J/)
          .and.to.not.match(/[^\P{Cc}\n]|[\u202a-\u202e]/u);
      }
    }
  });

  it('is for a file or a program as it is', async () => {
    expect((await printed(false, false, work)).stdout).to.equal(`${evil}\n`);
    for (const isTTY of [true, false])
      expect(JSON.parse((await printed(isTTY, true, work)).stdout).data).to.deep.equal({ evil });
  });
});
