import type { Given } from './asked.js';

/** What somebody sends that is wrong. */
export interface Mistake {
  helper: string;
  /** As a list where a name stands twice; `web/` stands for the address of what helpers may fetch. */
  given: Record<string, unknown> | Given;
  /** Some words of what it is told. */
  says: string;
  /** Where it can be made; everywhere by default. */
  on?: readonly string[];
  /** Whether no file is given beside it. */
  noFiles?: true;
}

/** Surfaces that take text and read values of it, and those that take values. */
const texts = ['GET', 'form', 'multipart', 'call'];
const values = ['JSON', 'MCP', 'local MCP'];

const border = 'media/add-border';
const tea = { name: 'Tea', cents: 1 };

export const mistakes: Record<string, Mistake> = {
  'a wrong type': { helper: border, given: { width: 'abc' }, says: 'width must be a whole number' },
  'a fraction': { helper: 'text/shout', given: { text: 'x', marks: 1.5 }, says: 'marks must be an integer' },
  'a number out of range': { helper: border, given: { width: 5001 }, says: 'width must be' },
  'an unknown name': { helper: border, given: { widht: 3 }, says: 'did you mean \\"width\\"?' },
  'a name unlike any': { helper: 'text/shout', given: { text: 'x', zzz: 3 }, says: 'zzz ' },
  'a missing name': { helper: 'text/diff-two-strings', given: { a: 'x' }, says: 'b is required' },
  'nothing at all': { helper: 'text/diff-two-strings', given: {}, says: 'b is required' },
  'several at once': {
    helper: 'media/add-watermark',
    given: { text: '', font_size: 1, colour: 'red', opacity: 'much' },
    says: 'opacity must',
  },
  'a missing nested name': {
    helper: 'data/area',
    given: { shape: { kind: 'circle' } },
    says: 'shape.r is required',
  },
  'a wrong nested value': {
    helper: 'data/area',
    given: { shape: { kind: 'box', width: -1, height: 'x' } },
    says: 'shape.height must',
  },
  'an unknown branch': { helper: 'data/area', given: { shape: { kind: 'boks' } }, says: 'shape.kind must' },
  'a list for an object': { helper: 'data/area', given: { shape: [1] }, says: 'shape must' },
  'a text for an object': { helper: 'data/area', given: { shape: 'box' }, says: 'shape must' },
  'an item of a list': {
    helper: 'data/invoice',
    given: { number: 7, items: [{ name: 'Tea', cents: -1 }] },
    says: 'items.0.cents must',
  },
  'an unknown name in an item': {
    helper: 'data/invoice',
    given: { number: 7, items: [{ ...tea, cent: 1 }] },
    says: 'items.0.cent ',
  },
  'too few items': { helper: 'data/invoice', given: { number: 7, items: [] }, says: 'items must' },
  'an object for a list': { helper: 'data/invoice', given: { number: 7, items: tea }, says: 'items must' },
  'what is no word': {
    helper: 'text/remove-stopwords',
    given: { text: 'x', keep: ['a b'] },
    says: 'keep.0 must',
  },
  'what is not offered': {
    helper: 'text/remove-stopwords',
    given: { text: 'x', language: 'en' },
    says: 'language must be',
  },
  'no such choice': { helper: border, given: { format: 'tiff' }, says: 'format must' },
  'no color': { helper: border, given: { color: 'blurple-ish' }, says: 'color ' },
  'no address': { helper: border, given: { url: 'gopher://x' }, says: 'https', noFiles: true },
  'a refused address': {
    helper: border,
    given: { url: 'http://127.0.0.1:1/' },
    says: 'source_refused',
    noFiles: true,
  },
  'a page for a picture': {
    helper: border,
    given: { url: 'web/page.html' },
    says: 'bad_image',
    noFiles: true,
  },
  'an address of nothing': {
    helper: border,
    given: { url: 'web/none' },
    says: 'source_failed',
    noFiles: true,
  },
  'a wrong type of file': {
    helper: 'data/csv',
    given: { table: 'web/picture.jpg' },
    says: 'image/jpeg; allowed are text/csv',
    noFiles: true,
  },
  'a missing file': { helper: 'data/csv', given: {}, says: 'table is required', noFiles: true },
  'a missing picture': { helper: border, given: {}, says: 'url', noFiles: true },
  'a mistake in a dry run': {
    helper: border,
    given: { width: -1, dryrun: true },
    says: 'width must',
    noFiles: true,
  },
  'no dry run': { helper: 'text/shout', given: { text: 'x', dryrun: 'maybe' }, says: 'dryrun must' },
  'a text that is too long': { helper: 'text/shout', given: { text: 'x'.repeat(10_001) }, says: 'text must' },
  // A query has a bound of its own before it, and multipart's words tell of two bounds.
  'more than is taken': {
    helper: 'text/remove-stopwords',
    given: { text: 'x'.repeat(60_000) },
    says: 'too_large',
    on: [...values, 'form', 'call'],
  },
  'a name given twice': {
    helper: 'text/shout',
    given: [
      ['text', 'x'],
      ['text', 'y'],
    ],
    says: 'text must be given once',
    on: [...texts, 'JSON'],
  },
  'nothing for a value': { helper: 'text/shout', given: { text: null }, says: 'text must', on: values },
  'a boolean for a number': {
    helper: 'text/shout',
    given: { text: 'x', marks: true },
    says: 'marks must',
    on: values,
  },
  // Where there is only text, a list for a number is the text that it was.
  'a list for a number': { helper: border, given: { width: [1] }, says: 'width must', on: values },
  'what the helper refuses': { helper: 'media/shrink', given: {}, says: 'width or height is required' },
  'what the helper does not find': {
    helper: 'data/look-up',
    given: { word: 'x' },
    says: 'There is no entry',
  },
  'what contradicts itself': {
    helper: 'data/invoice',
    given: { number: 1, items: [tea, tea] },
    says: 'conflict',
  },
  'what cannot be drawn': { helper: 'media/add-watermark', given: { text: '\u{E000}' }, says: 'text ' },
};
