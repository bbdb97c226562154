import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createFontSet, type FontSet, readFontSet } from '../../../../pool/image/text/fonts.js';

const dejavu = (name: string) => createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`);
const sizesOf = (buffers: Uint8Array[]) => buffers.map((buffer) => buffer.length);

describe('createFontSet', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fonts-'));
    await copyFile(dejavu('DejaVuSerif'), join(folder, 'b.ttf'));
    await copyFile(dejavu('DejaVuSansMono'), join(folder, 'A.TTF'));
    await writeFile(join(folder, 'readme.txt'), 'not a font');
    await mkdir(join(folder, 'empty'));
    await mkdir(join(folder, 'pipes'));
    execFileSync('mkfifo', [join(folder, 'pipes', 'pipe.ttf')]);
  });
  after(() => rm(folder, { recursive: true }));

  it('starts with the shipped font and reads a folder sorted by name', async () => {
    const fonts = await createFontSet([folder]);
    expect(sizesOf(fonts.buffers)).to.deep.equal([757_076, 340_712, 380_132]);
  });

  it('names what is not there, no font, no regular file or a folder without fonts, and waits for no pipe', async () => {
    for (const [path, problem] of Object.entries({
      'missing.ttf': 'missing.ttf cannot be read (ENOENT).',
      'readme.txt': 'readme.txt is not a font that can be used',
      pipes: 'pipe.ttf is no regular file.',
      'pipes/pipe.ttf': 'pipe.ttf is no regular file.',
      empty: 'empty is a folder without a .ttf, .otf or .ttc file',
    })) {
      const error = await createFontSet([join(folder, path)]).catch((error) => error);
      expect(error.message)
        .to.match(/^The font \//)
        .and.contain(problem);
    }
  });
});

describe('FontSet', () => {
  let fonts: FontSet;
  before(async () => {
    fonts = await createFontSet();
  });

  it('draws Latin, Cyrillic, Greek, Hebrew and Arabic with marks, and what is invisible by definition', () => {
    const visible = 'A & B <c> "d" Ünïcödé e\u0301 Привет Ελληνικά שָׁלוֹם مَرحبا ½ © €';
    const invisible = [...'\u200d\u200c\ufe0f\u200f\u2067\u061c\u00ad\ufeff'];
    expect(fonts.missing(visible + invisible.join('a'))).to.deep.equal([]);
  });

  it('names each character that cannot be drawn once, in order', () => {
    expect(fonts.missing('a\u4e2d b\u6587\u4e2d')).to.deep.equal(['\u4e2d', '\u6587']);
    expect(fonts.missing('😀\u{1f9ff}')).to.include('\u{1f9ff}');
  });

  it('counts line breaks, tabs, other controls and lone surrogates as undrawable', () => {
    for (const character of '\n\r\t\0\u007f\u0085\u2028\u2029\ud800') {
      expect(fonts.missing(`a${character}b`), JSON.stringify(character)).to.deep.equal([character]);
    }
  });

  it('finds a character in the first font that has it and hands over no other font', async () => {
    const two = await readFontSet([dejavu('DejaVuSans-ExtraLight'), dejavu('DejaVuSans')]);
    expect(sizesOf(two.chosenFor('abc').buffers)).to.deep.equal([355_380]);
    expect(sizesOf(two.chosenFor('مرحبا').buffers)).to.deep.equal([757_076]);
    expect(sizesOf(two.chosenFor('a مرحبا').buffers)).to.deep.equal([355_380, 757_076]);
  });
});
