import { expect } from 'chai';
import { isTouched } from '../../../gateway/plugins/discover.js';

const plugins = [
  '/p/hello.mjs',
  '/p/text/shout.ts',
  '/p/text/whisper.mjs',
  '/p/text/titled/index.mjs',
  '/p/media/crop.mjs',
];

function touchedBy(changed: string): string[] {
  return plugins.filter((file) => isTouched(file, changed, plugins));
}

describe('a change of a file touches', () => {
  const all = plugins;
  const text = plugins.filter((file) => file.startsWith('/p/text/'));
  for (const [changed, touched] of [
    ['/p/text/shout.ts', ['/p/text/shout.ts']],
    ['/p/text/titled/index.mjs', ['/p/text/titled/index.mjs']],
    ['/p/text/titled/words.mjs', ['/p/text/titled/index.mjs']],
    ['/p/text/titled/deep/_more/data.json', ['/p/text/titled/index.mjs']],
    ['/p/text/_words.mjs', text],
    ['/p/text/_shared/lists/en.json', text],
    ['/p/text/words.json', text],
    ['/p/_shared/words.mjs', all],
    ['/p/package.json', all],
    ['/p/media/deep/notes.txt', []],
  ] as const) {
    it(`${touched.length} plugins: ${changed}`, () => {
      expect(touchedBy(changed)).to.deep.equal(touched);
    });
  }
});
