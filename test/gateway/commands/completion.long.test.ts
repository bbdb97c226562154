import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Context } from 'mocha';
import { skipWithout } from '../../needs.js';
import { runCommand } from '../harness.js';

const run = promisify(execFile);

/** What bash would offer for a line, split as bash splits it. */
const bashScript = `
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
compopt() { echo "compopt $*"; }
_helper_gateway
printf '%s\\n' "\${COMPREPLY[@]}"
`;

/** What zsh hands to its own functions, in whose place these stand. */
const zshScript = `
compdef() { : }
_describe() { print -l -- "\${(@P)2}" }
_files() { print "files $*" }
compset() { : }
source "$1"; shift
words=("$@"); CURRENT=$#
PREFIX=$words[-1]
_helper_gateway
`;

describe('completion scripts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'completion-'));
  after(() => rmSync(folder, { recursive: true }));

  /** Prints the shell's script into a file; skips where there is no such shell. */
  async function scriptFor(context: Context, shell: string): Promise<string> {
    if (spawnSync(shell, ['--version']).error) skipWithout(context, shell);
    const { stdout } = await runCommand(['completion', shell], {});
    const file = join(folder, `completion.${shell}`);
    writeFileSync(file, stdout);
    return file;
  }

  it('of bash complete words that bash has split, and leave files to it', async function () {
    const script = await scriptFor(this, 'bash');
    const complete = async (...words: string[]) => {
      const { stdout } = await run('bash', ['-c', bashScript, 'bash', script, 'helper-gateway', ...words], {
        cwd: folder,
      });
      return stdout.trim().split('\n');
    };
    expect(await complete('ke')).to.include('keys');
    expect(await complete('call', 'media/add-border', '--format', '=', 'w')).to.include('webp');
    expect(await complete('call', 'media/add-border', '--out', '')).to.deep.equal(['']);
    expect(await complete('plugins', 'check', '')).to.include('compopt +o default -o dirnames');
  });

  it('of zsh offer candidates with what they mean, and files', async function () {
    const script = await scriptFor(this, 'zsh');
    const complete = async (...words: string[]) =>
      (await run('zsh', ['-f', '-c', zshScript, 'zsh', script, 'helper-gateway', ...words])).stdout;
    expect(await complete('ke')).to.match(/^keys:Issue, list, rotate/);
    expect(await complete('call', 'media/add-border', '--out', '')).to.equal('files \n');
    expect(await complete('plugins', 'check', '')).to.equal('files -/\n');
  });

  it('of fish offer candidates with what they mean, and files', async function () {
    const script = await scriptFor(this, 'fish');
    mkdirSync(join(folder, 'pictures'));
    const complete = async (line: string) => {
      const code = `source ${script}; complete -C '${line}'`;
      const env = { ...process.env, HOME: folder };
      return (await run('fish', ['--no-config', '-c', code], { cwd: folder, env })).stdout;
    };
    expect(await complete('helper-gateway ke')).to.match(/^keys\tIssue, list, rotate/);
    expect(await complete('helper-gateway call media/add-border --format=w')).to.match(/--format=webp/);
    expect(await complete('helper-gateway plugins check pic')).to.match(/^pictures\//);
  });
});
