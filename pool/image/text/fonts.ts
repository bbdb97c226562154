import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, type Font } from 'fontkitten';

/** One font of a file, whose bytes are those of the whole file. */
type FontFace = ReturnType<typeof toFace>;

/** Bitmap-only (emoji) fonts have none of these: they would be accepted and then draw nothing. */
const outlineTables = ['glyf', 'CFF ', 'CFF2'];

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const invisible = /^\p{Default_Ignorable_Code_Point}$/u;
const combiningMark = /^\p{M}$/u;
const undrawable = /^[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]$/u;

/** The faces of a .ttf, .otf or .ttc file. Throws where it is none, or has no outlines. */
function parseFaces(bytes: Buffer): FontFace[] {
  const parsed = create(bytes);
  const fonts = 'fonts' in parsed ? parsed.fonts : [parsed];
  return fonts.map((font) => toFace(font, bytes));
}

function toFace(font: Font, bytes: Uint8Array) {
  const { directory } = font as unknown as { directory: { tables: Record<string, unknown> } };
  if (!outlineTables.some((table) => table in directory.tables)) throw new Error('it has no outlines');
  // Reads the table of characters, which may be broken.
  font.hasGlyphForCodePoint(0x20);
  return {
    bytes,
    family: font.familyName,
    has: (codePoint: number) => font.hasGlyphForCodePoint(codePoint),
    /** Width of a character by itself, in ems. */
    advance: (character: string) => (font.glyphsForString(character)[0]?.advanceWidth ?? 0) / font.unitsPerEm,
  };
}

/** Width of a grapheme in ems, without kerning: that of its characters, but for marks, which stand over others. */
function advanceOf(grapheme: string, faces: readonly FontFace[]): number {
  const face = faces.find((candidate) => draws(candidate, grapheme)) ?? faces[0];
  let sum = 0;
  for (const character of grapheme.normalize('NFC')) {
    if (!invisible.test(character) && !combiningMark.test(character)) sum += face?.advance(character) ?? 0;
  }
  return sum;
}

/** Finds a face for every grapheme: a letter and its marks must come from one font, as they are or composed. */
function coverageOf(text: string, faces: readonly FontFace[]): { missing: string[]; faces: FontFace[] } {
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

/** The fonts that watermarks are drawn with, in the order in which a character looks for one. */
export interface FontSet {
  /** The font files as they are. */
  buffers: Uint8Array[];
  /** Characters that no font can draw, each once, in order: control characters too, but none that is invisible. */
  missing(text: string): string[];
  /** The font files that a text needs, in the order of trial, and the first's family: others may be large. */
  chosenFor(text: string): { buffers: Uint8Array[]; family: string };
  /** Width of a grapheme by itself in ems, near enough to break lines by. */
  advance(grapheme: string): number;
}

const fontFiles = new Set(['.ttf', '.otf', '.ttc']);

/**
 * Reads DejaVu Sans, which ships with the package, and then each path: a font file or a folder, sorted by name. Throws
 * an Error that names a path that cannot be used: customers would be the first to miss a font.
 */
export async function createFontSet(paths: readonly string[] = []): Promise<FontSet> {
  const shipped = 'dist/assets/dejavu-fonts-ttf/DejaVuSans.ttf';
  const file = new URL(shipped, import.meta.resolve('helper-gateway/package.json'));
  return readFontSet([fileURLToPath(file), ...(await fontFilesOf(paths))]);
}

/** The font files of these paths, each a file or a folder, in order. Throws as `createFontSet` does. */
export async function fontFilesOf(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) files.push(...(await listFonts(path)));
  return files;
}

/** A font set of just these files. */
export async function readFontSet(files: readonly string[]): Promise<FontSet> {
  const faces: FontFace[] = [];
  for (const file of files) {
    const bytes = await readFile(file).catch((error) => cannotRead(file, error));
    try {
      faces.push(...parseFaces(bytes));
    } catch (error) {
      fontError(file, `is not a font that can be used (${error instanceof Error ? error.message : error})`);
    }
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
  if (!(await isFolder(path))) return [path];
  const names = await readdir(path).catch((error) => cannotRead(path, error));
  const fonts = names.filter((name) => fontFiles.has(extname(name).toLowerCase())).sort();
  if (fonts.length === 0) fontError(path, 'is a folder without a .ttf, .otf or .ttc file');
  const files = fonts.map((name) => join(path, name));
  for (const file of files) {
    if (await isFolder(file)) fontError(file, 'is no regular file');
  }
  return files;
}

/** Throws for what is neither a folder nor a file: to read a pipe would keep the start waiting. */
async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch((error) => cannotRead(path, error));
  if (!found.isFile() && !found.isDirectory()) fontError(path, 'is no regular file');
  return found.isDirectory();
}

function cannotRead(path: string, error: NodeJS.ErrnoException): never {
  return fontError(path, `cannot be read (${error.code})`);
}

function fontError(path: string, problem: string): never {
  throw new Error(`The font ${path} ${problem}.`);
}
