import type { Command } from 'commander';
import type { Finding } from './doctor-checks.js';
import { type Answer, answer, columns, type JsonOption, jsonOption, type Terminal } from './output.js';
import { exitSoon, reserveStdout } from './process.js';

/** `doctor`: says all that would stop a start, what is slow, and which versions there are. */
export function registerDoctor(program: Command, terminal: Terminal): void {
  program
    .command('doctor')
    .description('Check all that a start needs, and change nothing; exit code 1 with a fault.')
    .option(...jsonOption)
    .action(async ({ json }: JsonOption) => {
      // Plugins may print while they are loaded.
      const quiet = { ...terminal, stdout: reserveStdout() };
      const { examine } = await import('./doctor-checks.js');
      await answer(quiet, json === true, async () => report(await examine(process.env)));
      exitSoon();
    });
}

function report({ findings, versions }: { findings: Finding[]; versions: Record<string, string> }): Answer {
  const faults = findings.filter(({ state }) => state === 'fault');
  const names = [...new Set(faults.map(({ check }) => check))].join(', ');
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`;
  const failure = {
    code: 'invalid_input',
    message: `${count}: ${names}`,
    details: faults.map(({ check, text }) => ({ field: check, problem: text })),
  };
  const isWell = faults.length === 0;
  const result = [...linesOf(findings), ...(isWell ? ['No fault.'] : [])].join('\n');
  return { data: { checks: findings, versions }, result, failure: isWell ? undefined : failure };
}

/** A line for each finding, and below it what to do. */
function linesOf(findings: readonly Finding[]): string[] {
  const rows = findings.flatMap(({ check, state, text, remedy }) => {
    const [first = '', ...more] = text.split('\n');
    const below = remedy === undefined ? more : [...more, remedy];
    return [[state, check, first], ...below.map((line) => ['', '', line])];
  });
  return columns(rows);
}
