import type { Logger } from 'pino';
import type { LocalHelpers } from '../../local/local-helpers.js';
import { helpOf } from './help.js';
import { jobsOf } from './jobs.js';
import { makeCalls } from './make-calls.js';
import { printText, type Screen } from './print.js';
import type { Input } from './read-file.js';
import { printUnknown, unknownHelper } from './unknown-helper.js';
import { readWords, serviceAt } from './words.js';

/** What the command works with; the process's own but in tests. */
export interface CallSurroundings {
  local: LocalHelpers;
  /** Calls under way at a time. */
  most: number;
  input: Input;
  screen: Screen;
  /** Told the reason of a fault, of which the answer itself says nothing. */
  logger: Pick<Logger, 'error'>;
  /** Ends what is under way. */
  signal: AbortSignal;
}

/** Does what the words behind `call` say and gives the exit code: 1 for bad input or a bad file, 2 where there is no such helper. */
export async function runCall(words: readonly string[], around: CallSurroundings): Promise<number> {
  const { local, screen } = around;
  const at = serviceAt(words, (word) => local.registry.has(word));
  const service = words[at] ?? '';
  const rest = words.filter((_, index) => index !== at);
  const helper = local.registry.get(service);
  if (helper === undefined) {
    const wanted = readWords(words, () => true);
    const helpers = [...local.registry.values()].map(({ id, declaration: { summary } }) => ({ id, summary }));
    if (!wanted.help) return printUnknown(service, helpers, screen, wanted.json);
    printText(screen.stdout, unknownHelper(undefined, helpers));
    return 0;
  }
  const { properties } = helper.parameters;
  const booleans = new Set(
    properties.filter(({ schema }) => schema.type === 'boolean').map(({ name }) => name),
  );
  const read = readWords(rest, (name) => booleans.has(name));
  if (read.help) {
    printText(screen.stdout, helpOf(helper));
    return 0;
  }
  return makeCalls({
    ...around,
    service,
    words: read,
    jobs: jobsOf(read, helper.declaration, around.input),
    form: {
      onlyData: helper.declaration.output !== undefined,
      pictures: helper.declaration.files.some(({ kind }) => kind === 'image'),
      defaultFormat: properties.find(({ name }) => name === 'format')?.schema.default,
    },
    call: async (job) => local.call(helper, await job.load(), around.signal),
  });
}
