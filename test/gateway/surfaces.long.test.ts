import { expect } from 'chai';
import type { Given, Outcome } from './surfaces/asked.js';
import { mistakes } from './surfaces/mistakes.js';
import { openSurfaces, type Surfaces } from './surfaces/open-surfaces.js';

/** Calls of the helpers whose declaration has no example. */
const more: Record<string, Record<string, unknown>[]> = {
  'data/csv': [{}, { options: { delimiter: ';', most: 1 } }],
  'media/collage': [{ gap: 2 }],
  'media/cut': [{ left: 5, width: 30, height: 20, turn: 90 }],
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

  it('gives the same answer for the same input', async () => {
    for (const [id, { declaration }] of surfaces.registry) {
      const inputs = [...declaration.examples.map(({ input }) => input), ...(more[id] ?? [])];
      expect(inputs, id).not.to.have.length(0);
      for (const input of inputs) expect(await callAll(id, input), id).not.to.have.property('code');
    }
  });

  it('gives the same dry run, for which no file is needed', async () => {
    for (const [id, { declaration }] of surfaces.registry) {
      for (const input of [...declaration.examples.map(({ input }) => input), ...(more[id] ?? [])]) {
        const outcome = await callAll(id, { ...input, dryrun: true }, { noFiles: true });
        expect(outcome, id).not.to.have.property('code');
      }
    }
  });

  for (const [name, { helper, given, says, on, noFiles }] of Object.entries(mistakes)) {
    it(`says the same of ${name}`, async () => {
      const outcome = await callAll(helper, given, { ...(on && { on }), ...(noFiles && { noFiles }) });
      expect(outcome).to.have.property('code');
      expect(JSON.stringify(outcome)).to.contain(says);
    });
  }
});
