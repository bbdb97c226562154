import { expect } from 'chai';
import { type Answer, answer, formatTable } from '../../../gateway/commands/output.js';

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

  it('has its failure beside the result', async () => {
    const failure = { code: 'conflict', message: 'the rest failed' };
    const half = async () => ({ data: { half: 1 }, result: 'half', failure });
    expect(await printed(false, false, half)).to.deep.equal({
      stdout: 'half\n',
      stderr: 'Error: the rest failed\n',
    });
    const { stdout } = await printed(false, true, half);
    expect(JSON.parse(stdout)).to.deep.equal({ ok: false, error: failure, data: { half: 1 } });
  });

  it('has tables with numbers to the right', () => {
    const rows = [
      ['a', '1000', 'x'],
      ['bb', '9', '-'],
    ];
    expect(formatTable(['NAME', 'N', 'T'], rows)).to.equal('NAME     N  T\na     1000  x\nbb       9  -');
  });
});
