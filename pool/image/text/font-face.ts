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
const mark = /^\p{M}$/u;
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
    if (!invisible.test(character) && !mark.test(character)) sum += face?.advance(character) ?? 0;
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
