import type { Stats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { advanceOf, coverageOf, type FontFace, parseFaces } from './font-face.js';

export interface ChosenFonts {
  /** The font files that the text needs, in the order in which they are to be tried. */
  buffers: Uint8Array[];
  /** Family name of the first. */
  family: string;
}

/** The fonts that watermarks are drawn with, in the order in which a character looks for one. */
export interface FontSet {
  /** The font files as they are. */
  buffers: Uint8Array[];
  /**
   * The characters of `text` that no font can draw, each once, in their order; empty where all can be drawn. A line
   * break, a tab and every other control character is among them; joiners, direction marks, variation selectors and
   * whatever else is invisible by definition is not. Takes microseconds a character.
   */
  missing(text: string): string[];
  /** The fonts that drawing `text` takes: handing the renderer no more than these keeps a 20 MB font out of its way. */
  chosenFor(text: string): ChosenFonts;
  /** Width of a grapheme by itself in ems, near enough to break lines by. */
  advance(grapheme: string): number;
}

const fontFiles = new Set(['.ttf', '.otf', '.ttc']);

/**
 * Reads DejaVu Sans, which ships with the package, and then each path: a font file (.ttf, .otf, .ttc) or a folder, of
 * which the font files are taken sorted by name. Throws an Error that names the path which does not exist, cannot be
 * read, is not a font with outlines or is a folder without fonts: a watermark with a font missing would be noticed by
 * a customer first.
 */
export async function createFontSet(paths: readonly string[] = []): Promise<FontSet> {
  const shipped = new URL(
    'dist/assets/dejavu-fonts-ttf/DejaVuSans.ttf',
    import.meta.resolve('helper-gateway/package.json'),
  );
  return readFontSet([fileURLToPath(shipped), ...(await fontFilesOf(paths))]);
}

/** The font files of these paths, each a file or a folder, in the order in which they are taken. Throws as `createFontSet` does. */
export async function fontFilesOf(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) files.push(...(await listFonts(path)));
  return files;
}

/** A font set of just these files. */
export async function readFontSet(files: readonly string[]): Promise<FontSet> {
  const faces: FontFace[] = [];
  for (const file of files) {
    const bytes = await readFile(file).catch((error) => fail(file, `cannot be read (${error.code})`));
    faces.push(...parseFaces(bytes, (problem) => fail(file, problem)));
  }
  return {
    buffers: [...new Set(faces.map((face) => face.bytes))],
    missing: (text) => coverageOf(text, faces).missing,
    advance: (grapheme) => advanceOf(grapheme, faces),
    chosenFor(text) {
      const used = coverageOf(text, faces).faces;
      const [first = faces[0] as FontFace] = used;
      return { buffers: [...new Set([first, ...used].map((face) => face.bytes))], family: first.family };
    },
  };
}

async function listFonts(path: string): Promise<string[]> {
  const found = await look(path);
  if (!found.isDirectory()) {
    requireFile(path, found);
    return [path];
  }
  const names = await readdir(path).catch((error) => fail(path, `cannot be read (${error.code})`));
  const fonts = names.filter((name) => fontFiles.has(extname(name).toLowerCase())).sort();
  if (fonts.length === 0) fail(path, 'is a folder without a .ttf, .otf or .ttc file');
  const files = fonts.map((name) => join(path, name));
  for (const file of files) requireFile(file, await look(file));
  return files;
}

function look(path: string): Promise<Stats> {
  return stat(path).catch((error) => fail(path, `cannot be read (${error.code})`));
}

/** To read a pipe would keep the start waiting. */
function requireFile(path: string, found: Stats): void {
  if (!found.isFile()) fail(path, 'is no regular file');
}

function fail(path: string, problem: string): never {
  throw new Error(`The font ${path} ${problem}.`);
}
