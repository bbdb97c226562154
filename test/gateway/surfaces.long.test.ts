import { expect } from 'chai';
import { type Given, type Outcome, openSurfaces, type Surfaces } from './surfaces.js';

const border = 'media/add-border';
const [diff, invoice] = ['text/diff-two-strings', 'data/invoice'];
const [shout, stopwords] = ['text/shout', 'text/remove-stopwords'];
const [mark, area, csv] = ['media/add-watermark', 'data/area', 'data/csv'];
const noFiles = { noFiles: true } as const;
const tea = { name: 'Tea', cents: 1 };

/** Surfaces that take text and read values of it, and those that take values. */
const texts = ['GET', 'form', 'multipart', 'call'];
const values = ['JSON', 'MCP', 'local MCP'];
const tooLong = { text: 'x'.repeat(60_000) };
const twice: Given = ['x', 'y'].map((value) => ['text', value]);

/**
 * Wrong input, and some words of the error. `web/` stands for the address of what helpers may fetch, and pairs for a
 * name that stands twice. `on` says where it can be made, by default everywhere.
 */
const mistakes: [
  name: string,
  helper: string,
  given: Record<string, unknown> | Given,
  says: string,
  more?: { on?: string[]; noFiles?: true },
][] = [
  ['a wrong type', border, { width: 'abc' }, 'width must be a whole number'],
  ['an unknown name', border, { widht: 3 }, 'did you mean \\"width\\"?'],
  ['a missing name', diff, { a: 'x' }, 'b is required'],
  ['several at once', mark, { text: '', font_size: 1, colour: 'red', opacity: 'much' }, 'opacity must'],
  ['a missing nested name', area, { shape: { kind: 'circle' } }, 'shape.r is required'],
  ['a wrong nested value', area, { shape: { kind: 'box', width: -1, height: 'x' } }, 'shape.height must'],
  ['an unknown branch', area, { shape: { kind: 'boks' } }, 'shape.kind must'],
  ['a text for an object', area, { shape: 'box' }, 'shape must'],
  ['an item of a list', invoice, { number: 7, items: [{ name: 'Tea', cents: -1 }] }, 'items.0.cents must'],
  ['an unknown name in an item', invoice, { number: 7, items: [{ ...tea, cent: 1 }] }, 'items.0.cent '],
  ['what is not offered', stopwords, { text: 'x', language: 'en' }, 'language must be'],
  ['no color', border, { color: 'blurple-ish' }, 'color '],
  ['no address', border, { url: 'gopher://x' }, 'https', noFiles],
  ['a refused address', border, { url: 'http://127.0.0.1:1/' }, 'source_refused', noFiles],
  ['a page for a picture', border, { url: 'web/page.html' }, 'bad_image', noFiles],
  ['an address of nothing', border, { url: 'web/none' }, 'source_failed', noFiles],
  ['a wrong type of file', csv, { table: 'web/picture.jpg' }, 'image/jpeg; allowed are text/csv', noFiles],
  ['a missing file', csv, {}, 'table is required', noFiles],
  ['a missing picture', border, {}, 'url', noFiles],
  ['a mistake in a dry run', border, { width: -1, dryrun: true }, 'width must', noFiles],
  ['no dry run', shout, { text: 'x', dryrun: 'maybe' }, 'dryrun must'],
  ['a text that is too long', shout, { text: 'x'.repeat(10_001) }, 'text must'],
  // A query has a bound of its own before it, and multipart's words name two bounds.
  ['more than is accepted', stopwords, tooLong, 'too_large', { on: [...values, 'form', 'call'] }],
  ['a name given twice', shout, twice, 'text must be given once', { on: [...texts, 'JSON'] }],
  ['nothing for a value', shout, { text: null }, 'text must', { on: values }],
  ['a boolean for a number', shout, { text: 'x', marks: true }, 'marks must', { on: values }],
  // Where there is only text, a list for a number is the text that it was.
  ['a list for a number', border, { width: [1] }, 'width must', { on: values }],
  ['what the helper refuses', 'media/shrink', {}, 'width or height is required'],
  ['what the helper does not find', 'data/look-up', { word: 'x' }, 'There is no entry'],
  ['what contradicts itself', invoice, { number: 1, items: [tea, tea] }, 'conflict'],
  ['what cannot be drawn', mark, { text: '\u{E000}' }, 'text '],
];

/** Calls of the helpers whose declaration has no example. */
const more: Record<string, Record<string, unknown>[]> = {
  'data/csv': [{}, { options: { delimiter: ';', most: 1 } }],
  'media/collage': [{ gap: 2 }],
  'media/facts': [{}, { original: true }],
  'media/shrink': [{ width: 48, format: 'jpeg' }],
  'text/translate': [{ text: 'té & tea', to: 'fr' }],
  'web/page-title': [{ page: 'web/page.html' }],
};

describe('every way to a helper', () => {
  let surfaces: Surfaces;

  before(async () => {
    surfaces = await openSurfaces();
  });
  after(() => surfaces.close());

  /** Calls a helper every way, or on some, sees that all come to the same, and gives it. */
  async function callAll(
    id: string,
    input: Record<string, unknown> | Given,
    { on = [...surfaces.all.keys()], noFiles = false }: { on?: readonly string[]; noFiles?: boolean } = {},
  ): Promise<Outcome> {
    const pairs: Given = Array.isArray(input) ? input : Object.entries(input);
    const own = pairs.map(([name, value]) => [name, placed(value)] as const);
    const declared = noFiles ? [] : (surfaces.registry.get(id)?.declaration.files ?? []);
    // One that takes the place of a parameter would be one too many beside it.
    const fields = declared.filter(({ insteadOf = '' }) => !pairs.some(([name]) => name === insteadOf));
    let common: Outcome | undefined;
    for (const way of on) {
      const surface = surfaces.all.get(way);
      if (!surface) throw new Error(`there is no surface ${way}`);
      const sent = fields.map((field) => surfaces.fileFor(field, surface.takes));
      const given = [...own, ...sent.flatMap((each) => each.given)];
      const files = Object.assign({}, ...sent.map((each) => each.files));
      const outcome = await surface.call({ helper: id, given, files });
      common ??= outcome;
      expect(outcome, `${id} ${JSON.stringify(input)} by ${way}`).to.deep.equal(common);
    }
    return common as Outcome;
  }

  function placed(value: unknown): unknown {
    return typeof value === 'string' ? value.replace(/^web\//, `${surfaces.origin}/`) : value;
  }

  it('gives the same answer for the same input, and the same dry run, for which no file is needed', async () => {
    for (const [id, { declaration }] of surfaces.registry) {
      const inputs = [...declaration.examples.map(({ input }) => input), ...(more[id] ?? [])];
      expect(inputs, id).not.to.have.length(0);
      for (const input of inputs) {
        expect(await callAll(id, input), id).not.to.have.property('code');
        const dryrun = await callAll(id, { ...input, dryrun: true }, { noFiles: true });
        expect(dryrun, id).not.to.have.property('code');
      }
    }
  });

  for (const [name, helper, given, says, more] of mistakes) {
    it(`says the same of ${name}`, async () => {
      const outcome = await callAll(helper, given, more);
      expect(outcome).to.have.property('code');
      expect(JSON.stringify(outcome)).to.contain(says);
    });
  }
});
