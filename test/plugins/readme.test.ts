import { Ajv } from 'ajv';
import { expect } from 'chai';
import { loadRegistry } from '../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../gateway/plugins/paths.js';
import { declarationSchema } from '../../schemas/declaration.js';
import { parseColor } from '../../schemas/keywords/color.js';
import { createVocabulary } from '../../schemas/vocabulary.js';
import { codesIn, readText, rowsOf, sectionOf } from '../readme.js';

function firstCodes(text: string): string[] {
  return rowsOf(text).flatMap(([first]) => codesIn(first));
}

/** A parameter's default as the tables show it. */
const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

describe('plugins/README', () => {
  const text = readText('plugins/README.md');

  it('names every field of a declaration, and no other', () => {
    expect(firstCodes(sectionOf(text, 'The declaration'))).to.have.members(
      Object.keys(declarationSchema.properties),
    );
  });

  it('names every keyword that the gateway adds, and no other', () => {
    // ajv's own, for alternatives that the gateway tells apart.
    const standard = new Ajv({ discriminator: true }).RULES.keywords;
    const added = Object.keys(createVocabulary().RULES.keywords).filter((name) => !(name in standard));
    expect(firstCodes(sectionOf(text, 'Keywords for parameters'))).to.have.members(added);
  });
});

describe('plugins/text/README and plugins/media/README', () => {
  it('name every parameter of every helper with its default, and no other', async () => {
    const registry = await loadRegistry([builtinPlugins], createVocabulary());
    for (const { id, url, declaration, parameters } of registry.values()) {
      // The pipeline is no plugin.
      if (url === '') continue;
      const section = sectionOf(readText(`plugins/${id.split('/')[0]}/README.md`), `\`${id}\``);
      const rows = rowsOf(section).filter(([first]) => codesIn(first).length > 0);
      const file = declaration.files.map(({ field }) => field);
      const names = [...parameters.properties.map(({ name }) => name), ...file];
      expect(firstCodes(section), id).to.have.members(names);
      for (const { name, schema, required } of parameters.properties) {
        const wanted = name === 'dryrun' ? 'false' : required ? 'required' : shown(schema.default ?? '–');
        const row = rows.find(([first]) => codesIn(first).includes(name)) ?? [];
        const cells = row.map((cell) => cell.replaceAll('`', ''));
        expect(cells, `${id} ${name}`).to.include(wanted);
      }
    }
  });

  it('say of colours what they are', () => {
    const section = sectionOf(readText('plugins/media/README.md'), 'Colours');
    const rows = rowsOf(section).filter(([written]) => written !== 'written');
    expect(rows.length).to.be.above(20);
    for (const [written = '', is] of rows) {
      const color = parseColor(written);
      expect('value' in color ? `\`${color.value}\`` : 'refused', written).to.equal(is);
    }
  });
});
