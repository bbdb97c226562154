import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
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
  mkdirSync(join(folder, 'pictures'));
  after(() => rmSync(folder, { recursive: true }));

  for (const [shell, argsOf, rows] of [
    [
      'bash',
      (script: string, line: string) => ['-c', bashScript, 'bash', script, ...line.split(' ')],
      [
        // Bash has split the words.
        ['call media/add-border --format = w', /^webp$/m],
        ['ke', /^keys$/m],
        ['call media/add-border --out ', /^\n$/],
        ['plugins check ', /^compopt \+o default -o dirnames$/m],
      ],
    ],
    [
      'zsh',
      (script: string, line: string) => ['-f', '-c', zshScript, 'zsh', script, ...line.split(' ')],
      [
        ['ke', /^keys:Issue, find, edit/],
        ['call media/add-border --out ', /^files \n$/],
        ['plugins check ', /^files -\/\n$/],
      ],
    ],
    [
      'fish',
      (script: string, line: string) => ['--no-config', '-c', `source ${script}; complete -C '${line}'`],
      [
        ['ke', /^keys\tIssue, find, edit/],
        ['call media/add-border --format=w', /--format=webp/],
        ['plugins check pic', /^pictures\//],
      ],
    ],
  ] as const) {
    it(`of ${shell} offer candidates with what they mean, and leave files to it`, async function () {
      if (spawnSync(shell, ['--version']).error) skipWithout(this, shell);
      const script = join(folder, `completion.${shell}`);
      writeFileSync(script, (await runCommand(['completion', shell], {})).stdout);
      for (const [line, offered] of rows) {
        const options = { cwd: folder, env: { ...process.env, HOME: folder } };
        const { stdout } = await run(shell, argsOf(script, `helper-gateway ${line}`), options);
        expect(stdout, line).to.match(offered);
      }
    });
  }
});
