import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createFontSet, readFontSet } from '../../../../pool/image/text/fonts.js';

const dejavu = (name: string) => createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`);

describe('createFontSet', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fonts-'));
    await copyFile(dejavu('DejaVuSerif'), join(folder, 'b.ttf'));
    await copyFile(dejavu('DejaVuSansMono'), join(folder, 'A.TTF'));
    await writeFile(join(folder, 'readme.txt'), 'not a font');
    await writeFile(join(folder, 'broken.bin'), 'not a font');
    await mkdir(join(folder, 'empty'));
  });
  after(() => rm(folder, { recursive: true }));

  async function problem(path: string): Promise<string> {
    return createFontSet([path]).then(
      () => 'none',
      (error) => error.message,
    );
  }

  it('starts with the shipped font and takes a folder sorted by name', async () => {
    const fonts = await createFontSet([folder]);
    const sizes = fonts.buffers.map((buffer) => buffer.length);
    expect(sizes).to.deep.equal([757_076, 340_712, 380_132]);
  });

  it('names a path that does not exist', async () => {
    expect(await problem('/no/such/font.ttf')).to.equal(
      'The font /no/such/font.ttf cannot be read (ENOENT).',
    );
  });

  it('names a file that is not a font', async () => {
    expect(await problem(join(folder, 'broken.bin'))).to.include('broken.bin is not a font that can be used');
  });

  it('names what is no regular file, and waits for none', async () => {
    const pipes = join(folder, 'pipes');
    await mkdir(pipes);
    execFileSync('mkfifo', [join(pipes, 'pipe.ttf')]);
    for (const path of [pipes, join(pipes, 'pipe.ttf')]) {
      expect(await problem(path)).to.match(/pipe\.ttf is no regular file\.$/);
    }
  });

  it('names a folder without fonts', async () => {
    expect(await problem(join(folder, 'empty'))).to.include(
      'empty is a folder without a .ttf, .otf or .ttc file',
    );
  });
});

describe('FontSet', () => {
  it('draws Latin, Cyrillic, Greek, Hebrew and Arabic with marks', async () => {
    const fonts = await createFontSet();
    for (const text of [
      'A & B <c> "d"',
      'Ünïcödé',
      'e\u0301',
      'Привет',
      'Ελληνικά',
      'שָׁלוֹם',
      'مَرحبا',
      '½ © €',
      ' ',
    ]) {
      expect(fonts.missing(text), text).to.deep.equal([]);
    }
  });

  it('names each character that cannot be drawn once, in order', async () => {
    const fonts = await createFontSet();
    expect(fonts.missing('a\u4e2d b\u6587\u4e2d')).to.deep.equal(['\u4e2d', '\u6587']);
    expect(fonts.missing('😀\u{1f9ff}')).to.include('\u{1f9ff}');
  });

  it('counts line breaks, tabs, other controls and lone surrogates as undrawable', async () => {
    const fonts = await createFontSet();
    for (const character of ['\n', '\r', '\t', '\0', '\u007f', '\u0085', '\u2028', '\u2029', '\ud800']) {
      expect(fonts.missing(`a${character}b`), JSON.stringify(character)).to.deep.equal([character]);
    }
  });

  it('counts what is invisible by definition as drawable', async () => {
    const fonts = await createFontSet();
    for (const character of [
      '\u200d',
      '\u200c',
      '\ufe0f',
      '\u200f',
      '\u2067',
      '\u061c',
      '\u00ad',
      '\ufeff',
    ]) {
      expect(fonts.missing(`a${character}b`), character.codePointAt(0)?.toString(16)).to.deep.equal([]);
    }
  });

  it('takes a character from the first font that has it and hands over no other font', async () => {
    const fonts = await readFontSet([dejavu('DejaVuSans-ExtraLight'), dejavu('DejaVuSans')]);
    const sizes = (text: string) => fonts.chosenFor(text).buffers.map((buffer) => buffer.length);
    expect(sizes('abc')).to.deep.equal([355_380]);
    expect(sizes('مرحبا')).to.deep.equal([757_076]);
    expect(sizes('a مرحبا')).to.deep.equal([355_380, 757_076]);
  });
});
