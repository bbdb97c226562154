import { expect } from 'chai';
import { Argument, Command } from 'commander';
import { completeCall, type HelperFinder } from '../../../gateway/commands/complete-call.js';
import { asLines, completeCommand, placeOf } from '../../../gateway/commands/completion.js';
import { describeDeclaration } from '../../../schemas/declared-helper.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

const program = new Command('x');
const keys = program.command('keys').description('Keys.');
keys.command('list').option('--json', 'as JSON').option('--to <file>', 'where to').argument('<id>');
program.command('check').argument('<dir>');
program.command('print').addArgument(new Argument('<shell>').choices(['bash', 'fish']));
program.command('secret', { hidden: true });
program.command('call');

const measure = { minimum: 4, maximum: 90 };
const properties = {
  format: { type: 'string', choice: { png: [], jpg: ['jpeg'] }, default: 'png', description: 'Which\tone.' },
  mode: { enum: ['one', 'two words'] },
  tags: { type: 'array', items: { enum: ['red', 'blue'] } },
  round: { type: 'boolean' },
  width: { type: 'integer', default: 20 },
  ink: { anyOf: [{ const: 'auto' }, { type: 'string', color: true }] },
  shade: { type: 'string', color: { auto: true }, default: 'auto' },
  size: { type: ['integer', 'string'], measure: { ...measure, auto: true }, default: 12 },
  edge: { type: ['integer', 'string'], measure },
  name: { type: 'string' },
};
const declaration = describeDeclaration({
  summary: 'Draws.',
  source: 'image',
  files: { logo: { kind: 'image', description: 'Its logo.' } },
  input: { type: 'object', properties },
});
const helper = { declaration, parameters: compileParameters(createVocabulary(), declaration) };
const text = describeDeclaration({ summary: 'Reads.', input: { type: 'object' } });
const plain = { declaration: text, parameters: compileParameters(createVocabulary(), text) };
const helpers: HelperFinder = {
  list: async () => [{ value: 'a/draw', description: 'Draws.' }, { value: 'b/read' }],
  find: async (id) => ({ 'a/draw': helper, 'b/read': plain })[id],
};

/** The lines that a shell gets; the last of the words is being typed. */
async function complete(line: string): Promise<string> {
  const words = line.split(' ');
  const [typed = '', place] = [words.pop(), placeOf(program, words)];
  const isCall = words[0] === 'call';
  const completion = isCall ? completeCall(words.slice(1), typed, helpers) : completeCommand(place, typed);
  return asLines(await completion)
    .trimEnd()
    .replaceAll('\n', '|');
}

describe('completion', () => {
  for (const [line, lines] of [
    ['ke', 'keys\tKeys.|:4'],
    ['keys l', 'list|:4'],
    ['keys list --json --j', ':4'],
    // Files and folders are the shell's, where they are wanted.
    ['keys list --to ', ':0'],
    ['keys list --to=a', ':0'],
    ['check a', ':16'],
    ['check a ', ':4'],
    ['keys list ', ':4'],
    ['print ', 'bash|fish|:4'],
    ['call ', 'a/draw\tDraws.|b/read|:4'],
    ['call b', 'b/read|:4'],
    ['call none ', ':4'],
    ['call a/draw --format ', 'png|jpg|:4'],
    ['call a/draw --format=j', '--format=jpg|:4'],
    ['call a/draw --mode t', 'two words|:4'],
    ['call a/draw --round=', '--round=true|--round=false|:4'],
    ['call a/draw --round f', 'false|:4'],
    ['call a/draw --width ', '20\tdefault|:4'],
    ['call a/draw --size ', 'auto|12\tdefault|:4'],
    ['call a/draw --edge ', ':4'],
    ['call a/draw --name ', ':4'],
    ['call a/draw --tags red,b', 'red,blue|:4'],
    ['call a/draw ', ':0'],
    ['call a/draw --round ', ':0'],
    ['call a/draw --logo a', ':0'],
    ['call a/draw --out ', ':0'],
    ['call a/draw --out=b', ':0'],
    ['call a/draw -- -a', ':0'],
    ['call a/draw --out-dir ', ':16'],
  ] as const) {
    it(`of "${line}"`, async () => {
      expect(await complete(line)).to.equal(lines);
    });
  }

  for (const [line, some, none] of [
    ['', 'keys\tKeys.|check|print|:4', 'secret'],
    ['keys list --', '--json\tas JSON|--to\twhere to', 'check'],
    ['call a/draw --', '--format\tWhich one.|--logo\tIts logo.|--file\ta picture', 'check'],
    ['call a/draw --m', '--mode\tone of one, "two words"', 'check'],
    ['call a/draw --format png --width=3 --', '--round\ttrue or false', '--format'],
    ['call b/read ', '--json\tprint the whole envelope', '--mode'],
    ['call a/draw --ink ', 'auto|tomato', 'default'],
    ['call a/draw --shade ', 'auto|tomato', 'default'],
  ] as const) {
    it(`of "${line}" names what there is`, async () => {
      const found = (await complete(line)).split('|');
      expect(found).to.include.members(some.split('|'));
      expect(found.map((each) => each.split('\t')[0])).not.to.include(none);
    });
  }
});
