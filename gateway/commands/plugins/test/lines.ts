import type { Helper } from '../../../helpers/registry.js';
import { callLine } from '../../call/call-line.js';
import { quoteWord } from '../../call/quote-word.js';
import { samplePicture } from './sample-files.js';
import type { FolderReport, NotTested } from './test-folder.js';
import type { Failure, HelperReport } from './test-helper.js';

/** Characters of a command that a person reads in a terminal. */
const longestLine = 2_000;

/** What lines of a report name. */
export interface Names {
  /** How the command line is called. */
  command: string;
  /** The folder of the plugins, where they are not the package's own. */
  folder: string | undefined;
  helpers: readonly Helper[];
}

/** A helper's report for people: one line, and below it what is to be mended. */
export function linesOf(report: HelperReport | NotTested, names: Names): string[] {
  if ('reason' in report) return [`- /${report.id}  skipped: ${report.reason}`];
  const { id, examples, inputs, valid, skipped, failures } = report;
  const fine = failures.length === 0;
  const doubt = inputs > 0 && valid === 0 ? ['no generated input fits the schema; only examples do'] : [];
  return [
    `${fine ? '✓' : '✗'} /${id}  ${plural(examples, 'example')}, ${plural(inputs, 'input')}`,
    ...[...skipped, ...doubt].map((reason) => `    ${reason}`),
    ...failures.flatMap((failure) => failureLines(id, failure, names)),
  ];
}

/** What has failed: plugins' calls, and the author's own tests as one. */
export function failuresOf({ plugins, tests }: FolderReport): number {
  const calls = plugins.reduce((sum, each) => sum + ('failures' in each ? each.failures.length : 0), 0);
  return calls + (tests.passed ? 0 : 1);
}

function failureLines(id: string, { stage, reason, input, files }: Failure, names: Names): string[] {
  const { command, folder, helpers } = names;
  const fields = helpers.find((each) => each.id === id)?.declaration.files ?? [];
  const samples = files.map((field) => {
    const kind = fields.find((each) => each.field === field)?.kind;
    return ` --${field} ${kind === 'image' ? quoteWord(samplePicture) : 'FILE'}`;
  });
  const served = folder === undefined ? '' : `HELPER_PLUGINS=${quoteWord(folder)} `;
  const line = `${served}${callLine(id, input, command)}${samples.join('')}`;
  const more = line.length > longestLine ? '… (all of it: --json)' : '';
  return [`    ${stage}: ${reason}`, `      ${line.slice(0, longestLine)}${more}`];
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
