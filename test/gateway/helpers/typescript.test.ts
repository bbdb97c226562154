import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadRegistry } from '../../../gateway/helpers/load-registry.js';
import { PluginError } from '../../../gateway/helpers/plugin-error.js';
import { createVocabulary } from '../../../schemas/vocabulary/vocabulary.js';
import { fixture } from '../../fixtures.js';

describe('plugins in TypeScript', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await cp(fixture('plugins/typescript'), folder, { recursive: true });
  });
  after(() => rm(folder, { recursive: true }));

  it('are loaded as they are, with what they import from their own folder', async () => {
    const registry = await loadRegistry([join(folder, 'good')], createVocabulary());
    expect([...registry.keys()].sort()).to.deep.equal(['text/shout', 'text/titled']);
    expect(registry.get('text/shout')?.declaration.summary).to.equal('Writes a text in capitals.');
  });

  describe('that cannot be loaded', () => {
    let problems: Map<string, string>;
    before(async () => {
      const error = await loadRegistry([join(folder, 'bad')], createVocabulary()).catch((thrown) => thrown);
      expect(error).to.be.instanceOf(PluginError);
      problems = new Map((error as PluginError).problems.map(({ file, reason }) => [file, reason]));
    });

    const words = (file: string, line: number) => ` (${join(folder, 'bad', file)}:${line})`;

    for (const [file, line, reason] of [
      ['enum.ts', 2, 'an enum is code and no type: write an object, '],
      ['namespace.ts', 1, 'a namespace is code and no type: '],
      ['parameter-property.ts', 2, 'a parameter property is code and no type: declare the field'],
      ['import-equals.ts', 1, 'write import … from'],
      ['export-equals.ts', 1, 'write export default'],
      ['syntax.ts', 2, 'Expression expected'],
    ] as const) {
      it(`are refused with file, line and what to do: ${file}`, () => {
        expect(problems.get(join(folder, 'bad', file)))
          .to.match(/^cannot be loaded: SyntaxError: /)
          .and.include(reason)
          .and.include(words(file, line));
      });
    }

    for (const [file, reason] of [
      ['decorator.ts', 'Invalid or unexpected token (line 3)'],
      ['compiled-name.ts', '"./_size.js" does not exist, but "./_size.ts" does: import that'],
      ['no-ending.mts', '"./_other" does not exist, but "./_other.mts" does: import that'],
      ['type-as-value.ts', 'if Size is a type, write "import type"'],
      ['throws.ts', 'nobody asked (ask ('],
      ['nothing.ts', 'has no default export'],
    ] as const) {
      it(`are refused with the reason: ${file}`, () => {
        expect(problems.get(join(folder, 'bad', file))).to.include(reason);
      });
    }

    for (const [file, imported, line] of [
      ['shared-enum.ts', '_enum.ts', 2],
      ['shared-twice.ts', '_twice.ts', 2],
    ] as const) {
      it(`name the module of theirs that is to blame: ${imported}`, () => {
        expect(problems.get(join(folder, 'bad', file))).to.include(words(imported, line));
      });
    }

    it('keep every line and column where the author wrote it', () => {
      expect(problems.get(join(folder, 'bad', 'throws.ts'))).to.include('throws.ts:2:57)');
    });
  });
});
