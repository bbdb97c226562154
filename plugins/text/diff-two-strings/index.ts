import { defineHelper } from 'helper-gateway/helper';
import { diffTexts, isShort } from './diff.js';

export default defineHelper({
  summary: 'Returns a unified diff between two strings.',
  description:
    'Hunks in the form of GNU diff: "@@ -start[,count] +start[,count] @@", then lines that begin with a space (in both), ' +
    '"-" (removed from a) or "+" (added in b). Lines are joined by newlines, with none at the end; equal texts give "". ' +
    'A line ends at "\\n" only; "\\r" is part of its line. More than twice context unchanged lines split a hunk. ' +
    '"\\ No newline at end of file" follows the last line of a text that lacks the final newline which the other text has. ' +
    'The diff is a shortest one unless the texts are so long and so unlike that it would take too much time to find; ' +
    'then it may be longer, and still turns a into b. A dry run returns the diff too.',
  dryrun: 'run',
  input: {
    type: 'object',
    properties: {
      a: { type: 'string', maxLength: 1_000_000, description: 'Original text; may be empty.' },
      b: { type: 'string', maxLength: 1_000_000, description: 'New text; may be empty.' },
      context: {
        type: 'integer',
        minimum: 0,
        maximum: 1000,
        default: 3,
        description: 'Number of unchanged lines shown before and after each change.',
      },
      patch: {
        type: 'boolean',
        default: false,
        description:
          'Return a complete patch, with file headers, every no-newline marker and a final newline, that GNU patch and ' +
          'git apply (with --unidiff-zero where context is 0) apply to give exactly b.',
      },
    },
    required: ['a', 'b'],
  },
  output: {
    type: 'object',
    properties: { diff: { type: 'string', description: 'Unified diff; empty where the texts are equal.' } },
    required: ['diff'],
  },
  examples: [
    { summary: 'One line changed', input: { a: 'one\ntwo\nthree\n', b: 'one\n2\nthree\n' } },
    { summary: 'No context', input: { a: 'one\ntwo', b: 'one\ntwo\nthree', context: 0 } },
    { summary: 'A patch to apply', input: { a: 'one\n', b: 'one\ntwo\n', patch: true } },
  ],
  inline: isShort,
  handler: ({ a, b, context, patch }) => ({ diff: diffTexts(a, b, { context, patch }) }),
});
