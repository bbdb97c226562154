import { expect } from 'chai';
import { Argument, Command } from 'commander';
import { completeCall, type HelperFinder } from '../../../gateway/commands/complete-call.js';
import { asLines, completeCommand, placeOf } from '../../../gateway/commands/complete-command.js';
import { describeDeclaration } from '../../../schemas/declared-helper.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

const program = new Command('x');
const keys = program.command('keys').description('Keys.');
keys.command('list').option('--json', 'as JSON').option('--to <file>', 'where to').argument('<id>');
program.command('check').argument('<dir>');
program.command('print').addArgument(new Argument('<shell>').choices(['bash', 'fish']));
program.command('secret', { hidden: true });

const declaration = describeDeclaration({
  summary: 'Draws.',
  source: 'image',
  files: { logo: { kind: 'image', description: 'Its logo.' } },
  input: {
    type: 'object',
    properties: {
      format: {
        type: 'string',
        choice: { png: [], jpg: ['jpeg'] },
        default: 'png',
        description: 'Which\tone.',
      },
      mode: { enum: ['one', 'two words'] },
      tags: { type: 'array', items: { enum: ['red', 'blue'] } },
      round: { type: 'boolean' },
      width: { type: 'integer', default: 20 },
      ink: { anyOf: [{ const: 'auto' }, { type: 'string', color: true }] },
      shade: { type: 'string', color: { auto: true }, default: 'auto' },
      size: { type: ['integer', 'string'], measure: { minimum: 4, maximum: 90, auto: true }, default: 12 },
      edge: { type: ['integer', 'string'], measure: { minimum: 4, maximum: 90 } },
      name: { type: 'string' },
    },
  },
});
const helper = { declaration, parameters: compileParameters(createVocabulary(), declaration) };
const text = describeDeclaration({ summary: 'Reads.', input: { type: 'object' } });
const plain = { declaration: text, parameters: compileParameters(createVocabulary(), text) };
const helpers: HelperFinder = {
  list: async () => [{ value: 'a/draw', description: 'Draws.' }, { value: 'b/read' }],
  find: async (id) => ({ 'a/draw': helper, 'b/read': plain })[id],
};

/** The lines that a shell gets; the last of the words is being typed. */
function command(...words: string[]): string[] {
  const typed = words.at(-1) ?? '';
  return asLines(completeCommand(placeOf(program, words.slice(0, -1)), typed))
    .trimEnd()
    .split('\n');
}

async function call(...words: string[]): Promise<string[]> {
  const completion = await completeCall(words.slice(0, -1), words.at(-1) ?? '', helpers);
  return asLines(completion).trimEnd().split('\n');
}

describe('completion of commands', () => {
  it('names them with what they do, and not the hidden ones', () => {
    expect(command('')).to.include.members(['keys\tKeys.', 'check', ':4']).and.not.include('secret');
    expect(command('ke')).to.deep.equal(['keys\tKeys.', ':4']);
    expect(command('keys', 'l')).to.deep.equal(['list', ':4']);
  });

  it('names the options that are not there yet', () => {
    expect(command('keys', 'list', '--')).to.include.members(['--json\tas JSON', '--to\twhere to']);
    expect(command('keys', 'list', '--json', '--j')).to.deep.equal([':4']);
  });

  it('leaves files and folders to the shell where they are wanted, and else nothing', () => {
    expect(command('keys', 'list', '--to', '')).to.deep.equal([':0']);
    expect(command('keys', 'list', '--to=a')).to.deep.equal([':0']);
    expect(command('check', 'a')).to.deep.equal([':16']);
    expect(command('check', 'a', '')).to.deep.equal([':4']);
    expect(command('keys', 'list', '')).to.deep.equal([':4']);
    expect(command('print', '')).to.deep.equal(['bash', 'fish', ':4']);
  });
});

describe('completion of call', () => {
  it('names the helpers with their summaries', async () => {
    expect(await call('')).to.deep.equal(['a/draw\tDraws.', 'b/read', ':4']);
    expect(await call('b')).to.deep.equal(['b/read', ':4']);
    expect(await call('nobody', '')).to.deep.equal([':4']);
  });

  it('names a helper’s parameters and files, and not those given already', async () => {
    const all = await call('a/draw', '--');
    expect(all).to.include.members(['--format\tWhich one.', '--logo\tIts logo.', '--file\ta picture']);
    const left = await call('a/draw', '--format', 'png', '--width=3', '--');
    expect(left.join())
      .to.include('--mode')
      .and.not.match(/--format|--width/);
    expect(await call('b/read', '')).to.include('--json\tprint the whole envelope');
  });

  it('names what a parameter may be', async () => {
    expect(await call('a/draw', '--format', '')).to.deep.equal(['png', 'jpg', ':4']);
    expect(await call('a/draw', '--format=j')).to.deep.equal(['--format=jpg', ':4']);
    expect(await call('a/draw', '--mode', 't')).to.deep.equal(['two words', ':4']);
    expect(await call('a/draw', '--round=')).to.deep.equal(['--round=true', '--round=false', ':4']);
    expect(await call('a/draw', '--width', '')).to.deep.equal(['20\tdefault', ':4']);
    expect(await call('a/draw', '--ink', '')).to.include.members(['auto', 'tomato']);
    expect(await call('a/draw', '--shade', '')).to.include.members(['auto', 'tomato']);
    expect(await call('a/draw', '--size', '')).to.deep.equal(['auto', '12\tdefault', ':4']);
    expect(await call('a/draw', '--edge', '')).to.deep.equal([':4']);
    expect(await call('a/draw', '--name', '')).to.deep.equal([':4']);
  });

  it('goes on with the last item of a list', async () => {
    expect(await call('a/draw', '--tags', 'red,b')).to.deep.equal(['red,blue', ':4']);
  });

  it('leaves files to the shell: as arguments, in file fields and for results', async () => {
    for (const words of [[''], ['--round', ''], ['--logo', 'a'], ['--out', ''], ['--out=b'], ['--', '-a']]) {
      expect(await call('a/draw', ...words), words.join(' ')).to.deep.equal([':0']);
    }
    expect(await call('a/draw', '--out-dir', '')).to.deep.equal([':16']);
  });
});
