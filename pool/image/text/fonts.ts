import type { Stats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, type Font } from 'fontkitten';

/** One font of a file. */
export interface FontFace {
  /** The whole file. */
  bytes: Uint8Array;
  family: string;
  has(codePoint: number): boolean;
  /** Width of a character by itself, in ems. */
  advance(character: string): number;
}

export interface Coverage {
  missing: string[];
  /** The faces that draw the rest, in order of preference. */
  faces: FontFace[];
}

/** Bitmap-only (emoji) fonts have none of these: they would be accepted and then draw nothing. */
const outlineTables = ['glyf', 'CFF ', 'CFF2'];

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const invisible = /^\p{Default_Ignorable_Code_Point}$/u;
const combiningMark = /^\p{M}$/u;
const undrawable = /^[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]$/u;

/** The faces of a .ttf, .otf or .ttc file. Calls `fail` with what is wrong with it, in words that follow its name. */
export function parseFaces(bytes: Buffer, fail: (problem: string) => never): FontFace[] {
  let fonts: Font[];
  try {
    const parsed = create(bytes);
    fonts = 'fonts' in parsed ? parsed.fonts : [parsed];
    return fonts.map((font) => toFace(font, bytes));
  } catch (error) {
    return fail(`is not a font that can be used (${error instanceof Error ? error.message : error})`);
  }
}

function toFace(font: Font, bytes: Buffer): FontFace {
  const { directory } = font as unknown as { directory: { tables: Record<string, unknown> } };
  if (!outlineTables.some((table) => table in directory.tables)) throw new Error('it has no outlines');
  const family = font.familyName;
  font.hasGlyphForCodePoint(0x20);
  return {
    bytes,
    family,
    has: (codePoint) => font.hasGlyphForCodePoint(codePoint),
    advance: (character) => (font.glyphsForString(character)[0]?.advanceWidth ?? 0) / font.unitsPerEm,
  };
}

/**
 * Width of a grapheme in ems: that of its characters, but for marks, which stand over others. What a shaper would make of them beside
 * others (kerning, joined letters) is not in it.
 */
export function advanceOf(grapheme: string, faces: readonly FontFace[]): number {
  const face = faces.find((candidate) => draws(candidate, grapheme)) ?? faces[0];
  let sum = 0;
  for (const character of grapheme.normalize('NFC')) {
    if (!invisible.test(character) && !combiningMark.test(character)) sum += face?.advance(character) ?? 0;
  }
  return sum;
}

/**
 * Finds a face for every grapheme: a letter and its marks must come from one font to fit each other, as they are or
 * composed (NFC), which is how a shaper tries them.
 */
export function coverageOf(text: string, faces: readonly FontFace[]): Coverage {
  const missing = new Set<string>();
  const used = new Set<FontFace>();
  const seen = new Map<string, FontFace | undefined>();
  for (const { segment } of graphemes.segment(text)) {
    const known = seen.has(segment);
    const face = known ? seen.get(segment) : faces.find((candidate) => draws(candidate, segment));
    seen.set(segment, face);
    if (face) used.add(face);
    else if (!known) for (const character of undrawn(segment, faces)) missing.add(character);
  }
  return { missing: [...missing], faces: faces.filter((face) => used.has(face)) };
}

function draws(face: FontFace, grapheme: string): boolean {
  return (
    [...grapheme].every((c) => hasCharacter(face, c)) ||
    [...grapheme.normalize('NFC')].every((c) => hasCharacter(face, c))
  );
}

function hasCharacter(face: FontFace, character: string): boolean {
  if (undrawable.test(character)) return false;
  return invisible.test(character) || face.has(character.codePointAt(0) as number);
}

/** The characters to blame; where each has a font but not one has all, the grapheme as a whole. */
function undrawn(grapheme: string, faces: readonly FontFace[]): string[] {
  const blamed = [...grapheme].filter((c) => !faces.some((face) => hasCharacter(face, c)));
  return blamed.length > 0 ? blamed : [grapheme];
}

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
    const bytes = await readFile(file).catch((error) => fontError(file, `cannot be read (${error.code})`));
    faces.push(...parseFaces(bytes, (problem) => fontError(file, problem)));
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
  const found = await statPath(path);
  if (!found.isDirectory()) {
    requireFile(path, found);
    return [path];
  }
  const names = await readdir(path).catch((error) => fontError(path, `cannot be read (${error.code})`));
  const fonts = names.filter((name) => fontFiles.has(extname(name).toLowerCase())).sort();
  if (fonts.length === 0) fontError(path, 'is a folder without a .ttf, .otf or .ttc file');
  const files = fonts.map((name) => join(path, name));
  for (const file of files) requireFile(file, await statPath(file));
  return files;
}

function statPath(path: string): Promise<Stats> {
  return stat(path).catch((error) => fontError(path, `cannot be read (${error.code})`));
}

/** To read a pipe would keep the start waiting. */
function requireFile(path: string, found: Stats): void {
  if (!found.isFile()) fontError(path, 'is no regular file');
}

function fontError(path: string, problem: string): never {
  throw new Error(`The font ${path} ${problem}.`);
}
